use sandpipe_protocol::{ExecStdout, OutputEvent};

use crate::error::Result;

/// What takes the events of an output.
pub(crate) trait Sink {
    /// Takes the next event.
    fn take(&mut self, event: OutputEvent<'_>);

    /// What came together, a network chunk, has been taken.
    ///
    /// # Errors
    /// No more is wanted.
    fn end_batch(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Keeps every event.
impl Sink for Vec<ExecStdout> {
    fn take(&mut self, event: OutputEvent<'_>) {
        self.push(event.into());
    }
}

/// Keeps none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drain;

impl Sink for Drain {
    fn take(&mut self, _event: OutputEvent<'_>) {}
}
