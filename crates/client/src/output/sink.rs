//! What takes the events of an output.

use sandpipe_protocol::ExecStdout;

use super::Event;
use super::event::own;
use crate::Result;

/// What takes the events of an output.
pub trait OutputSink {
    /// Takes an event.
    fn take(&mut self, event: &Event<'_>);

    /// What came together, a network chunk, has been taken.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Keeps every event.
impl OutputSink for Vec<ExecStdout> {
    fn take(&mut self, event: &Event<'_>) {
        self.push(own(event));
    }
}

/// Keeps none.
#[derive(Clone, Copy)]
pub struct Discard;

impl OutputSink for Discard {
    fn take(&mut self, _event: &Event<'_>) {}
}
