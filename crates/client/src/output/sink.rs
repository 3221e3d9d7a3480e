//! What takes the events of an output.

use sandpipe_protocol::ExecStdout;

use super::event::own;
use super::{Encoding, Event};
use crate::{Call, Result};

/// What takes the events of an output.
pub trait OutputSink {
    /// Said once, before the first event, where it is not text: how the output is wanted.
    fn set_encoding(&mut self, _encoding: Encoding) {}

    /// Takes an event.
    fn take(&mut self, event: &Event<'_>);

    /// What came together, a network chunk, has been taken.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Completes when this can take more. None: it can now.
    fn settled(&mut self) -> Option<Call<()>> {
        None
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
