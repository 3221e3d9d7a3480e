//! Following an output, for the fuzz targets.

use sandpipe_protocol::{ExecStdout, OutputEvent};
use sandpipe_text::{Mark, Text};

use crate::output::{Follower, OutputFault, OutputSink};

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
    end: Mark,
}

impl OutputSink for Followed {
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        self.text.push_string(json)
    }

    fn take(&mut self, event: OutputEvent<'_>) {
        self.end = self.text.end();
        self.events.push(event.into());
    }

    fn discard(&mut self) {
        self.text.truncate(self.end);
    }
}

/// Follows an output that comes in these chunks.
pub fn follow<'a>(last_sequence: i64, chunks: impl IntoIterator<Item = &'a [u8]>) -> Followed {
    let mut follower = Follower::after(last_sequence);
    let mut seen = Followed::default();
    for chunk in chunks {
        if let Err(broken) = follower.feed(chunk, &mut seen) {
            seen.broken = Some(match broken {
                OutputFault::Protocol { problem, .. } => problem,
                OutputFault::Lost { from, to } => format!("{from} to {to} are lost"),
            });
            break;
        }
    }
    seen.exit_code = follower.exit_code;
    seen.last_sequence = follower.last_sequence();
    seen
}

/// The event that ends an output of which `rest` was still to come.
pub fn conclude(rest: &[ExecStdout], exit_code: i32) -> Option<ExecStdout> {
    Follower::after(0).conclude(rest, exit_code)
}
