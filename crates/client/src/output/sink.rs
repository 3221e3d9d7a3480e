//! What takes the events of an output.

use sandpipe_protocol::json_string::JsonString;
use sandpipe_protocol::{ExecStdout, OutputEvent};

use crate::Result;

/// What takes the events of an output.
pub trait OutputSink {
    /// Reads the output of the next event: the JSON string that `json` begins with. Gives what is behind
    /// it; None for what [`JsonString::read`] does not read either.
    ///
    /// [`OutputSink::take`] or [`OutputSink::discard`] follows.
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        JsonString::read(json).map(|(_, behind)| behind)
    }

    /// Takes the event whose output was read.
    fn take(&mut self, event: OutputEvent<'_>);

    /// What was read is not to be taken: it has come before, or it is no event.
    fn discard(&mut self) {}

    /// What came together, a network chunk, has been taken.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Keeps every event.
impl OutputSink for Vec<ExecStdout> {
    fn take(&mut self, event: OutputEvent<'_>) {
        self.push(event.into());
    }
}

/// Keeps none.
#[derive(Clone, Copy)]
pub struct Discard;

impl OutputSink for Discard {
    fn take(&mut self, _event: OutputEvent<'_>) {}
}
