//! What to do when a stream of output ends, breaks or was refused: a state machine without I/O and
//! without a clock. The driver does what it says and tells it what came of that.

use sandpipe_protocol::{ExecItem, ExecStatus};

use crate::retry::Backoff;

/// Brings a stream of output to its end over as many connections as it takes.
#[derive(Debug)]
pub(crate) struct Resume {
    backoff: Backoff,
    /// How many connections in a row brought no new event.
    failures: u32,
    /// What the agent said of the exec when it was last asked.
    told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    /// More may come.
    Runs,
    /// All output exists; this is the exit code, if there is one.
    Ended(Option<i32>),
}

/// What the driver is to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Wait, unless it is 0 milliseconds, then ask the agent what became of the exec.
    Ask { delay_ms: f64, failures: u32 },
    /// Connect again, for the events after the last one.
    Connect,
    /// The output was complete, and this is the exit code.
    Done(i32),
    /// There is no exit code to be had.
    Missing,
    /// It was tried often enough.
    GiveUp,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As the sender wished.
    Clean,
    /// In the middle, or before it began.
    Broken,
}

impl Resume {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0, told: Told::Nothing }
    }

    /// A new event came.
    pub(crate) fn brought_events(&mut self) {
        self.failures = 0;
    }

    /// The connection ended without an exit code. `retry_after_ms` is what a refusal named.
    pub(crate) fn ended(
        &mut self,
        ending: Ending,
        random: f64,
        retry_after_ms: Option<f64>,
    ) -> Next {
        // Only a whole stream shows that no output is missing.
        if let (Told::Ended(exit_code), Ending::Clean) = (self.told, ending) {
            return exit_code.map_or(Next::Missing, Next::Done);
        }
        self.failed(random, retry_after_ms)
    }

    /// What the agent says of the exec.
    pub(crate) fn told(&mut self, exec: &ExecItem) -> Next {
        self.told = match exec.status {
            ExecStatus::Exited | ExecStatus::Stopped => {
                Told::Ended(u32::try_from(exec.exit_code).is_ok().then_some(exec.exit_code))
            }
            ExecStatus::Created
            | ExecStatus::Running
            | ExecStatus::Stopping
            | ExecStatus::Other(_) => Told::Runs,
        };
        Next::Connect
    }

    /// The agent could not be asked.
    pub(crate) fn not_told(&mut self, random: f64, retry_after_ms: Option<f64>) -> Next {
        self.failed(random, retry_after_ms)
    }

    fn failed(&mut self, random: f64, retry_after_ms: Option<f64>) -> Next {
        self.failures += 1;
        if self.failures > self.backoff.max_attempts {
            return Next::GiveUp;
        }
        // The first time at once: a proxy that ends long streams is no reason to wait.
        let delay_ms = match (self.failures, retry_after_ms) {
            (1, None) => 0.0,
            (failures, after) => self.backoff.delay(failures - 1, random, after),
        };
        Next::Ask { delay_ms, failures: self.failures }
    }
}
