use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sandpipe_protocol::{ExecItem, ExecStatus, NO_EXIT_CODE};
use tokio::sync::watch;

use super::input::Input;
use crate::{
    output::{Spool, SpoolLimit},
    process::{Group, Launch, Terminal},
};

/// A command that was asked for, and what has become of it.
#[derive(Debug)]
pub(crate) struct Exec {
    pub(super) id: String,
    /// 1, 2, 3, … in the order in which they were created.
    pub(super) number: u64,
    pub(super) launch: Arc<Launch>,
    pub(super) spool: Arc<Spool>,
    state: Mutex<State>,
    /// Held while it is started or deleted, so that the two never run at once.
    pub(super) lifecycle: tokio::sync::Mutex<Lifecycle>,
    /// Told of each change that its item shows.
    changes: watch::Sender<()>,
    /// Becomes true when it is deleted.
    pub(super) deleted: watch::Sender<bool>,
}

/// What may still be done with an exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Open,
    /// It is not started any more: the agent stops.
    Stopping,
    Deleted,
}

/// What of an exec changes.
#[derive(Debug)]
pub(super) struct State {
    pub(super) status: ExecStatus,
    pub(super) exit_code: Option<i32>,
    /// The end of the output is kept from the readers: the exec is being deleted.
    end_held: bool,
    /// The process group, once there was one. It stays after the exit: members may live on.
    pub(super) group: Option<Arc<Group>>,
    /// Standard input, while it is open.
    pub(super) input: Option<Input>,
    /// The terminal, while the process runs in one.
    pub(super) terminal: Option<Terminal>,
}

impl Exec {
    pub(super) fn new(
        id: String,
        number: u64,
        launch: Launch,
        spools: &Path,
        limit: SpoolLimit,
        changes: watch::Sender<()>,
    ) -> Self {
        let spool = Arc::new(Spool::new(spools.join(&id), limit));
        Self {
            id,
            number,
            launch: Arc::new(launch),
            spool,
            state: Mutex::new(State {
                status: ExecStatus::Created,
                exit_code: None,
                end_held: false,
                group: None,
                input: None,
                terminal: None,
            }),
            lifecycle: tokio::sync::Mutex::new(Lifecycle::Open),
            changes,
            deleted: watch::Sender::default(),
        }
    }

    /// Its output.
    pub(crate) fn spool(&self) -> &Arc<Spool> {
        &self.spool
    }

    /// It as clients see it now.
    pub(crate) fn item(&self) -> ExecItem {
        let state = self.state();
        let pid = state.group.as_ref().map_or(0, |group| group.id().as_raw());
        ExecItem {
            id: self.id.clone(),
            command: self.launch.command.clone(),
            args: self.launch.args.clone(),
            status: state.status.clone(),
            pid: pid.unsigned_abs(),
            pty: self.launch.pty,
            exit_code: state.exit_code.unwrap_or(NO_EXIT_CODE),
            user: self.launch.identity.as_ref().map(ToString::to_string),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of each change, of this exec or another.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn changed(&self) {
        self.changes.send_replace(());
    }

    /// From now on its process is being stopped.
    pub(super) fn set_stopping(&self) {
        let mut state = self.state();
        if state.status == ExecStatus::Running {
            state.status = ExecStatus::Stopping;
            drop(state);
            self.changed();
        }
    }

    /// Its process, if it had one, has ended: the exit code is known, and the output complete.
    ///
    /// Both are told at once: a client that saw the end of the output finds the exit code, and the
    /// other way round.
    pub(super) fn set_ended(&self, exit_code: i32) {
        let state = self.state();
        if !state.end_held {
            self.spool.finish(exit_code);
        }
        self.set_over(state, Some(exit_code));
    }

    /// Its process is out of sight: the exit code will never be known, and no more output comes.
    pub(super) fn set_lost(&self) {
        let state = self.state();
        self.spool.close();
        self.set_over(state, None);
    }

    fn set_over(&self, mut state: MutexGuard<'_, State>, exit_code: Option<i32>) {
        state.status = match state.status {
            ExecStatus::Stopping => ExecStatus::Stopped,
            _ => ExecStatus::Exited,
        };
        state.exit_code = exit_code;
        state.input = None;
        state.terminal = None;
        drop(state);
        self.changed();
    }

    /// From now on readers are not told of the end: when the exec is deleted their streams end
    /// without one.
    pub(super) fn hold_end(&self) {
        self.state().end_held = true;
    }

    /// Readers are told of the end after all, also of one that has come meanwhile.
    pub(super) fn release_end(&self) {
        let mut state = self.state();
        state.end_held = false;
        if let Some(exit_code) = state.exit_code {
            self.spool.finish(exit_code);
        }
    }
}
