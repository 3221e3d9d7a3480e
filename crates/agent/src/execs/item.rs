//! An exec as clients see it.

use std::{io, sync::Arc};

use sandpipe_protocol::{ExecItem, NO_EXIT_CODE};

use super::{
    description::{CommandLine, Description},
    exec::Exec,
    record::ExecRecord,
    time::Time,
};
use crate::blocking;

impl Exec {
    /// It as clients see it now, as far as it is in memory: a long command line of one that has ended is not.
    pub(crate) fn item(&self) -> ExecItem {
        let state = self.state();
        let Description { line, truncated, pty, interactive: _, user, policy } = &self.description;
        let CommandLine { command, args, cwd } = state.whole.as_ref().unwrap_or(line).clone();
        let text = |time: Option<Time>| time.map(|time| time.to_string());
        ExecItem {
            id: self.id.clone(),
            command,
            args,
            status: state.status.clone(),
            pid: state.pid,
            pty: *pty,
            exit_code: state.exit_code.unwrap_or(NO_EXIT_CODE),
            user: user.clone(),
            created_at: text(self.created_at),
            started_at: text(state.started_at),
            ended_at: text(state.ended_at),
            cwd,
            policy: policy.clone(),
            stop_reason: state.stop_reason_of(&state.status).map(|reason| reason.name().to_owned()),
            output_error: self.spool.failure(),
            args_truncated: (*truncated && state.whole.is_none()).then_some(true),
        }
    }

    /// It as a list shows it.
    pub(crate) fn listed_item(&self) -> ExecItem {
        let mut item = self.item();
        self.shorten(&mut item);
        item.output_error = None;
        item
    }

    /// Has an item of it the command line that a list shows.
    pub(super) fn shorten(&self, item: &mut ExecItem) {
        if self.description.truncated {
            let CommandLine { command, args, cwd } = self.description.line.clone();
            item.command = command;
            item.args = args;
            item.cwd = cwd;
            item.args_truncated = Some(true);
        }
    }

    /// It as clients see it now, with the whole command line.
    pub(crate) async fn whole_item(self: &Arc<Self>) -> ExecItem {
        let item = self.item();
        if item.args_truncated.is_none() {
            return item;
        }
        let exec = Arc::clone(self);
        let read = blocking::run(move || exec.directory.read()).await;
        match read.map_err(io::Error::from).flatten() {
            Ok(ExecRecord {
                item: ExecItem { command, args, cwd, args_truncated, .. }, ..
            }) => ExecItem { command, args, cwd, args_truncated, ..item },
            Err(error) => {
                tracing::warn!(%error, id = self.id, "the arguments of the exec can't be read");
                item
            }
        }
    }
}
