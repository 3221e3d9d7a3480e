//! Why a command was stopped, and what is left of it.

use super::{Error, whole_ms};
use crate::host_value::{HostText, HostValue};

/// A command that was stopped before it ended by itself.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// None where nothing had been created.
    pub exec_id: Option<String>,
    /// What it was stopped for.
    pub why: StopReason,
    /// Its output up to the end.
    pub output: HostText,
    /// It took SIGKILL.
    pub forced: bool,
    /// Why it may still run, if so.
    pub unstopped: Option<NotStopped>,
    /// Why some of its output is missing, if so.
    pub incomplete: Option<Box<Error>>,
}

/// Why processes of a command that was to be stopped may be left.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotStopped {
    /// No signal could be delivered.
    #[error("it could not be stopped: {0}")]
    Undelivered(Box<Error>),
    /// They are left after SIGKILL.
    #[error("processes of it are still there after SIGKILL")]
    StillThere,
}

/// Why a command was stopped.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StopReason {
    /// The caller's signal was aborted.
    #[error("interrupted")]
    Interrupted {
        /// The reason of the signal.
        reason: Option<HostValue>,
    },
    /// It took longer than it was allowed to.
    #[error("timed out after {} ms", whole_ms(*milliseconds))]
    TimedOut {
        /// How long it was allowed to take.
        milliseconds: f64,
    },
    /// Half of its input is worse than none.
    #[error("its input could not be delivered: {error}")]
    InputLost {
        /// Why it could not be delivered.
        error: Box<Error>,
    },
}

impl Stopped {
    pub(super) fn message(&self) -> String {
        let subject = self.exec_id.as_ref().map_or_else(String::new, |id| format!("exec {id}: "));
        let unstopped = self.unstopped.as_ref().map(|unstopped| format!("; {unstopped}"));
        let incomplete = self.incomplete.as_ref();
        let incomplete =
            incomplete.map(|error| format!("; some of its output is missing: {error}"));
        let [unstopped, incomplete] = [unstopped, incomplete].map(Option::unwrap_or_default);
        format!("{subject}{}{unstopped}{incomplete}", self.why)
    }
}
