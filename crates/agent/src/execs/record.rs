use std::mem;

use sandpipe_protocol::{ExecItem, ExecStdout};
use serde::{Deserialize, Serialize};

use super::{description::CommandLine, idempotency::Creation, time::Time};

/// What is kept of an exec on disk besides its output, so that an agent that starts again knows it.
///
/// The environment is not: it may hold secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExecRecord {
    /// Its place in the order of creation.
    pub(super) number: u64,
    pub(super) item: ExecItem,
    /// The key that it was created with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) creation: Option<Creation>,
    /// The event with the exit code. Without it, the process had not ended when this was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_event: Option<ExecStdout>,
}

impl ExecRecord {
    /// When the exec was created; older agents did not write it down.
    pub(super) fn created(&self) -> Option<Time> {
        self.item.created_at.as_deref().and_then(Time::parse)
    }

    /// From now on it has the command line that a list shows.
    pub(super) fn shorten(&mut self) {
        let ExecItem { command, args, cwd, args_truncated, .. } = &mut self.item;
        let line =
            CommandLine { command: mem::take(command), args: mem::take(args), cwd: cwd.take() };
        let (short, whole) = line.shortened();
        (*command, *args, *cwd) = (short.command, short.args, short.cwd);
        *args_truncated = args_truncated.or(whole.map(|_| true));
    }

    /// When it ended, where that is known.
    pub(super) fn ended(&self) -> Option<Time> {
        let last = self.last_event.as_ref().and_then(|last| last.timestamp.as_deref());
        self.item.ended_at.as_deref().or(last).and_then(Time::parse)
    }
}

/// What each record of an exec has in it, whatever else changes.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    pub(super) creation: Option<Creation>,
}
