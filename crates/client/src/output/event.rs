//! The events of an output, on their way from the follower to a sink.

use sandpipe_protocol::{ExecStdout, OutputEvent, Part};
use sandpipe_text::{Text, Units};

/// An event of output.
pub type Event<'a> = OutputEvent<'a, EventOutput<'a>>;

/// What a process wrote.
#[derive(Clone, Copy, Debug)]
pub enum EventOutput<'a> {
    /// Text, taken out of JSON: what the process wrote byte for byte is not known.
    Text(&'a Text),
    /// Bytes, as the process wrote them.
    Bytes {
        /// All of them.
        bytes: &'a [u8],
        /// The characters that they complete.
        text: Part<'a>,
    },
}

impl EventOutput<'_> {
    fn to_text(self) -> String {
        match self {
            Self::Text(text) => match text.units() {
                Units::Ascii(bytes) | Units::Latin1(bytes) => {
                    bytes.iter().copied().map(char::from).collect()
                }
                Units::Utf16(units) => String::from_utf16_lossy(units),
            },
            Self::Bytes { text, .. } => text.to_text(),
        }
    }
}

impl<'a> From<&'a str> for EventOutput<'a> {
    fn from(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        Self::Bytes { bytes, text: Part::of_whole(bytes) }
    }
}

/// An event whose text lies apart.
pub(crate) fn event_of(event: &ExecStdout) -> Event<'_> {
    OutputEvent::from(event).map_output(EventOutput::from)
}

/// The same event on its own.
pub(crate) fn own(event: &Event<'_>) -> ExecStdout {
    event.map_output(EventOutput::to_text).into()
}
