//! What to do when a stream of output ends, breaks or was refused: a state machine without I/O and
//! without a clock. Its caller does what it says, and reports what came of that.

use sandpipe_protocol::{ExecItem, ExecStatus};

use crate::http::{Backoff, Pause, ReconnectBackoff};

/// Brings a stream of output to its end over as many connections as it takes.
///
/// It gives up when the agent can't be reached: [`Backoff::max_attempts`] failures in a row are borne, and
/// whenever the agent answers the count begins anew. As long as it says that the exec runs, streams may end
/// as often as they like. Once the exec has ended, no more than that many may bring nothing.
pub(crate) struct Resume {
    reconnects: ReconnectBackoff,
    /// How many times in a row the agent could not be reached.
    failures: u32,
    /// How many streams in a row have brought nothing of an exec that is not known to run.
    empty_streams: u32,
    /// What the agent said when it was last asked.
    status: KnownStatus,
    /// Events have come over this connection.
    has_new_events: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownStatus {
    /// Not asked for yet, or in words of another agent's own.
    Unknown,
    /// More may come.
    Runs,
    /// All output exists; this is the exit code, if there is one.
    Ended(Option<i32>),
}

/// What the driver is to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NextStep {
    /// Wait, unless it is 0 milliseconds, then ask the agent what became of the exec.
    Ask(Pause),
    /// Connect again, for the events after the last one.
    Connect,
    /// Streams bring no more of an exec that has ended: a snapshot has the rest. This is the exit code,
    /// should the snapshot not have it; where there is none, nothing else shows that it is whole.
    Done(Option<i32>),
    Missing,
    GiveUp,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// As the sender wished.
    Clean,
    /// In the middle, or before it began.
    Broken,
    /// It was answered with an error.
    Refused,
}

impl Resume {
    pub(crate) fn new(backoff: Backoff) -> Self {
        let reconnects = ReconnectBackoff::new(backoff);
        Self {
            reconnects,
            failures: 0,
            empty_streams: 0,
            status: KnownStatus::Unknown,
            has_new_events: false,
        }
    }

    pub(crate) fn on_events(&mut self) {
        self.empty_streams = 0;
        self.reconnects.on_progress();
        self.has_new_events = true;
    }

    /// The connection ended without an exit code. It was open for so many milliseconds, if it came about;
    /// `retry_after_ms` is what a refusal named.
    pub(crate) fn on_end(
        &mut self,
        ending: StreamEnd,
        lasted_ms: Option<f64>,
        random: f64,
        retry_after_ms: Option<f64>,
    ) -> NextStep {
        let has_new_events = std::mem::take(&mut self.has_new_events);
        self.failures = if lasted_ms.is_some() { 0 } else { self.failures + 1 };
        let lasted_ms = lasted_ms.unwrap_or(0.0);
        let code = match self.status {
            KnownStatus::Ended(None) if ending == StreamEnd::Clean && !has_new_events => {
                return NextStep::Missing;
            }
            KnownStatus::Ended(code) => Some(code),
            // An agent ends no stream of what runs, so it is a proxy that does.
            KnownStatus::Runs => return self.ask(lasted_ms, random, retry_after_ms),
            KnownStatus::Unknown => {
                if ReconnectBackoff::was_stable(lasted_ms) {
                    self.empty_streams = 0;
                }
                None
            }
        };
        self.empty_streams += 1;
        if self.empty_streams <= self.reconnects.backoff.max_attempts {
            return self.ask(lasted_ms, random, retry_after_ms);
        }
        match (ending, code) {
            // A proxy, too, ends streams in good order: only one that brings nothing however often it
            // is asked for shows that no output is missing.
            (StreamEnd::Clean, Some(code)) => NextStep::Done(code),
            (StreamEnd::Broken | StreamEnd::Refused, Some(Some(_))) => NextStep::Done(None),
            _ => NextStep::GiveUp,
        }
    }

    pub(crate) fn on_status(&mut self, exec: &ExecItem) -> NextStep {
        self.failures = 0;
        let had_ended = matches!(self.status, KnownStatus::Ended(_));
        self.status = match exec.status {
            ExecStatus::Exited | ExecStatus::Stopped => {
                if !had_ended {
                    // What is left is asked for as soon as what is new.
                    self.reconnects.on_progress();
                }
                KnownStatus::Ended(exit_code_of(exec))
            }
            ExecStatus::Created | ExecStatus::Running | ExecStatus::Stopping => {
                self.empty_streams = 0;
                KnownStatus::Runs
            }
            ExecStatus::Other(_) => KnownStatus::Unknown,
        };
        NextStep::Connect
    }

    pub(crate) fn on_status_error(&mut self, random: f64, retry_after_ms: Option<f64>) -> NextStep {
        self.failures += 1;
        self.ask(0.0, random, retry_after_ms)
    }

    fn ask(&mut self, lasted_ms: f64, random: f64, retry_after_ms: Option<f64>) -> NextStep {
        if self.failures > self.reconnects.backoff.max_attempts {
            return NextStep::GiveUp;
        }
        NextStep::Ask(self.reconnects.pause(lasted_ms, random, retry_after_ms))
    }
}

/// The exit code of an exec that has ended, if it has one.
pub(crate) fn exit_code_of(exec: &ExecItem) -> Option<i32> {
    let ended = matches!(exec.status, ExecStatus::Exited | ExecStatus::Stopped);
    (ended && exec.exit_code >= 0).then_some(exec.exit_code)
}
