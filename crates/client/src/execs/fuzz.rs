//! Following an output, for the fuzz targets.

use sandpipe_protocol::ExecStdout;
use sandpipe_text::Text;

use crate::http::MediaType;
use crate::output::{Decoder, Event, EventOutput, Follower, OutputSink};

/// What came of an output.
#[derive(Default)]
pub struct Followed {
    /// Its events.
    pub events: Vec<ExecStdout>,
    /// Their texts, put together as a transcript does it.
    pub text: Text,
    /// The exit code, if it has come.
    pub exit_code: Option<i32>,
    /// The `lastSequence` to go on with.
    pub last_sequence: i64,
    /// Why it can't be followed any further.
    pub broken: Option<String>,
}

impl OutputSink for Followed {
    fn take(&mut self, event: &Event<'_>) {
        match event.output {
            EventOutput::Text(text) => self.text.push_text(text),
            EventOutput::Bytes { text, .. } => self.text.push_part(text),
        }
        self.events.take(event);
    }
}

/// Follows an output that comes in these chunks: in binary frames, or as Server-Sent Events.
pub fn follow<'a>(
    in_frames: bool,
    last_sequence: i64,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Followed {
    let media_type = if in_frames { MediaType::Frames } else { MediaType::EventStream };
    let mut follower = Follower::after(last_sequence);
    let mut decoder = Decoder::of(media_type);
    let mut seen = Followed::default();
    for chunk in chunks {
        if let Err(broken) = follower.feed(&mut decoder, chunk, &mut seen) {
            seen.broken = Some(broken.to_string());
            break;
        }
    }
    seen.exit_code = follower.exit_code;
    seen.last_sequence = follower.last_sequence();
    seen
}
