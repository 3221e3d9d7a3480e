use std::{
    io, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use sandpipe_protocol::{ExecItem, ExecStatus, ExecStdout, TerminalSize};
use tokio::sync::watch;

use super::{
    bookkeeping::Bookkeeping,
    context::ExecContext,
    description::{CommandLine, Description},
    directory::Directory,
    input::Input,
    record::{ExecRecord, Recording},
    stop_reason::StopReason,
    time::Time,
};
use crate::{
    blocking,
    output::Spool,
    process::{Launch, PtyMaster, ReachedLimit, Waker},
    sandbox::Group,
    tokens::{ExecRef, TokenId},
};

/// A command that was asked for, and what has become of it.
#[derive(Debug)]
pub(crate) struct Exec {
    pub(super) id: String,
    /// 1, 2, 3, … in the order in which they were created.
    pub(super) number: u64,
    pub(super) description: Description,
    /// None where an older agent did not write it down.
    pub(super) created_at: Option<Time>,
    pub(super) directory: Directory,
    /// None where nothing is to be known of it later.
    pub(super) recording: Option<Recording>,
    pub(super) spool: Arc<Spool>,
    /// Longest silence of its pipes, once its process has ended, after which its output is complete.
    pub(super) output_silence: Duration,
    state: Mutex<State>,
    /// A client has ended standard input.
    pub(super) input_ended: Arc<AtomicBool>,
    /// Held while it is started or deleted, so that the two never run at once.
    pub(super) lifecycle: tokio::sync::Mutex<Lifecycle>,
    /// Told of each change that its item shows, and of its end.
    pub(super) bookkeeping: Arc<Bookkeeping>,
    /// The index has it, with the key that it was created with.
    pub(super) is_indexed: AtomicBool,
    deleted: AtomicBool,
    /// The scoped token that has created it.
    creator: Option<TokenId>,
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
    /// The whole command line, where a list shows less, until it is to be read from disk.
    pub(super) whole: Option<CommandLine>,
    pub(super) started_at: Option<Time>,
    pub(super) ended_at: Option<Time>,
    /// Nothing will change any more.
    is_over: bool,
    /// How to start it, until it has been.
    pub(super) launch: Option<Arc<Launch>>,
    /// The process id, once there was one.
    pub(super) pid: u32,
    /// Whether readers are told of the end of the output.
    end: EndDelivery,
    /// The process group, once there was one. It stays after the exit: members may live on.
    pub(super) group: Option<Arc<Group>>,
    /// By what it was ended, if that was a limit.
    pub(super) reached: Option<ReachedLimit>,
    /// What was the first to stop it, or to try.
    stop_reason: Option<StopReason>,
    /// What wakes the thread that observes the process.
    pub(super) waker: Weak<Waker>,
    /// Standard input, while it is open.
    pub(super) input: Option<Input>,
    /// The terminal, while the process runs in one.
    pub(super) terminal: Option<PtyMaster>,
    /// The size that the terminal is to have, if a client has said it before there is one.
    pub(super) size: Option<TerminalSize>,
}

impl Exec {
    pub(super) fn new(
        id: String,
        number: u64,
        launch: Launch,
        recording: Option<Recording>,
        context: &ExecContext,
    ) -> Self {
        let path = context.spools.join(&id);
        let spool = Spool::new(path.clone(), context.spool_limit);
        let (description, whole) = Description::of(&launch);
        // What is too long to be kept in memory is read from disk.
        let recording =
            recording.or_else(|| whole.is_some().then_some(Recording { creation: None }));
        let mut state = State::of(ExecStatus::Created, None, 0);
        state.launch = Some(Arc::new(launch));
        state.whole = whole;
        Self {
            recording,
            created_at: Some(Time::now()),
            ..Self::with(id, number, description, Directory::new(path), spool, state, context)
        }
    }

    /// An exec of an earlier agent, whose record is short; the index may have it already. If that agent died before the exec had ended, the exec
    /// was stopped and nobody knows its exit code.
    pub(super) fn recovered(record: ExecRecord, is_indexed: bool, context: &ExecContext) -> Self {
        let directory = Directory::new(context.spools.join(&record.item.id));
        let spool = Spool::left(
            directory.path().to_path_buf(),
            context.spool_limit,
            record.last_event.as_ref(),
            record.item.output_error.clone(),
        );
        let (created_at, ended_at) = (record.created(), record.ended());
        let started_at = record.item.started_at.as_deref().and_then(Time::parse);
        let ExecRecord { number, item, creation, last_event } = record;
        let ExecItem { id, command, args, status, pid, pty, user, .. } = item;
        let ExecItem { cwd, policy, stop_reason, args_truncated, .. } = item;
        let line = CommandLine { command, args, cwd };
        let truncated = args_truncated == Some(true);
        let description = Description { line, truncated, pty, interactive: true, user, policy };
        let exit_code = last_event.and_then(|last| last.exit_code);
        let status = if exit_code.is_some() { status } else { ExecStatus::Stopped };
        let mut state = State::of(status, exit_code, pid);
        state.is_over = true;
        state.started_at = started_at;
        state.ended_at = ended_at;
        state.stop_reason = stop_reason.as_deref().and_then(StopReason::of);
        Self {
            created_at,
            // Nothing is written of it any more but that it is removed, and that only where the index lacks it.
            recording: creation
                .filter(|_| !is_indexed)
                .map(|creation| Recording { creation: Some(creation) }),
            is_indexed: is_indexed.into(),
            ..Self::with(id, number, description, directory, spool, state, context)
        }
    }

    fn with(
        id: String,
        number: u64,
        description: Description,
        directory: Directory,
        spool: Spool,
        state: State,
        context: &ExecContext,
    ) -> Self {
        Self {
            id,
            number,
            description,
            created_at: None,
            directory,
            recording: None,
            spool: Arc::new(spool),
            output_silence: context.output_silence,
            state: Mutex::new(state),
            input_ended: Arc::default(),
            lifecycle: tokio::sync::Mutex::new(Lifecycle::Open),
            bookkeeping: Arc::clone(&context.bookkeeping),
            is_indexed: AtomicBool::default(),
            deleted: AtomicBool::default(),
            creator: None,
        }
    }

    /// The same, that a scoped token has created.
    pub(super) fn created_by(self, creator: Option<TokenId>) -> Self {
        Self { creator, ..self }
    }

    /// Its id, and who has created it.
    pub(crate) fn named(&self) -> ExecRef<'_> {
        ExecRef { id: &self.id, creator: self.creator.as_ref() }
    }

    /// Removes what is on disk. It may block.
    pub(super) fn remove_directory(&self) {
        // What is being written would make it anew.
        self.spool.release();
        self.directory.remove();
    }

    /// Its output.
    pub(crate) fn spool(&self) -> &Arc<Spool> {
        &self.spool
    }

    /// Its output, to be read. That of an earlier agent is looked through first.
    ///
    /// # Errors
    /// It can't be read.
    pub(crate) async fn output(&self) -> io::Result<&Arc<Spool>> {
        if !self.spool.is_loaded() {
            let spool = Arc::clone(&self.spool);
            blocking::run(move || spool.load()).await??;
        }
        Ok(&self.spool)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of each change, of this exec or another.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.bookkeeping.changes.watch()
    }

    /// It is new, or not as it was.
    pub(crate) fn changed(&self) {
        self.bookkeeping.changes.changed(self.number);
    }

    /// Whether nothing will change any more.
    pub(super) fn has_ended(&self) -> bool {
        self.state().is_over
    }

    /// It is about to be told to stop. That may be too late: its status says whether it was.
    pub(super) fn set_stop_reason(&self, reason: StopReason) {
        let mut state = self.state();
        state.stop_reason.get_or_insert(reason);
        state.wake_observer();
    }

    /// Returns whether something stops it, or deletes it.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_deleted() || self.state().stop_reason.is_some()
    }

    /// It was not stopped after all, while it runs.
    pub(super) fn take_back_stop_reason(&self, reason: StopReason) {
        let mut state = self.state();
        if state.status == ExecStatus::Running {
            state.stop_reason.take_if(|told| *told == reason);
        }
    }

    /// From now on its process is being stopped.
    pub(super) fn set_stopping(&self, reason: StopReason) {
        let mut state = self.state();
        state.stop_reason.get_or_insert(reason);
        state.wake_observer();
        if state.status == ExecStatus::Running {
            state.status = ExecStatus::Stopping;
            drop(state);
            self.changed();
        }
    }

    /// It has used more than it may: it is killed with all that it has started.
    pub(super) fn end_by(&self, limit: ReachedLimit) {
        let group = {
            let mut state = self.state();
            state.set_reached(limit);
            state.group.clone()
        };
        // Nobody waits for that: its end is heard of like any other.
        drop(group.map(|group| group.signal(&[Signal::SIGKILL])));
    }

    /// Its process, if it had one, has ended: the exit code is known, and the output complete. It
    /// writes to disk, so it may block.
    ///
    /// Both are told at once: a client that saw the end of the output finds the exit code, and the
    /// other way round. And they are written down before: what a client was told stays true.
    pub(super) fn end(&self, exit_code: i32) {
        let last = self.spool.seal(exit_code);
        let mut item = self.item();
        let group = self.state().group.clone();
        item.status = over(&item.status, group.as_deref());
        let reason = self.state().stop_reason_of(&item.status);
        item.stop_reason = reason.map(|reason| reason.name().to_owned());
        item.exit_code = exit_code;
        item.ended_at.clone_from(&last.timestamp);
        let at = last.timestamp.as_deref().and_then(Time::parse).unwrap_or_else(Time::now);
        let bytes = self.write_end(item, at, Some(last.clone()));
        let mut state = self.state();
        match &mut state.end {
            EndDelivery::Deliver => self.spool.finish(&last),
            EndDelivery::Hold(held) => *held = Some(last),
        }
        let status = over(&state.status, group.as_deref());
        self.set_over(state, status, Some(exit_code), at, bytes);
    }

    /// Its process can't be observed any more, and is stopped: the exit code will never be known, and no more
    /// output comes. It writes to disk, so it may block; all else is done before, and takes nothing that
    /// could be missing.
    ///
    /// An agent that starts later makes the same of an exec whose record has no exit code.
    pub(super) fn set_outcome_unknown(&self) {
        let group = self.state().group.clone();
        // Nobody waits for that: it is done by the box, or the box is dead and so is the group.
        drop(group.map(|group| group.signal(&[Signal::SIGKILL])));
        let at = Time::now();
        let state = self.state();
        self.spool.interrupt();
        self.set_over(state, ExecStatus::Stopped, None, at, self.spool.size());
        self.spool.release();
        let written = catch_unwind(AssertUnwindSafe(|| self.write_end(self.item(), at, None)));
        if written.is_err() {
            tracing::warn!(id = self.id, "the agent failed while it wrote the exec down");
        }
    }

    /// It has been deleted: nobody is to write output any more.
    pub(super) fn set_deleted(&self) {
        self.deleted.store(true, Ordering::Release);
        self.state().wake_observer();
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }

    fn set_over(
        &self,
        mut state: MutexGuard<'_, State>,
        status: ExecStatus,
        exit_code: Option<i32>,
        at: Time,
        bytes: u64,
    ) {
        state.ended_at = Some(at);
        state.is_over = true;
        state.status = status;
        state.exit_code = exit_code;
        state.launch = None;
        state.input = None;
        state.terminal = None;
        // Told before anybody can see it: who finds all execs over ends the streams that tell it.
        self.changed();
        // One that is deleted meanwhile is not to be removed again.
        if !self.is_deleted() {
            self.bookkeeping.ended(self.number, Instant::now(), bytes);
        }
        drop(state);
    }

    /// From now on readers are not told of the end: when the exec is deleted their streams end
    /// without one.
    pub(super) fn hold_end(&self) {
        self.state().end = EndDelivery::Hold(None);
    }

    /// Readers are told of the end after all, also of one that has come meanwhile.
    pub(super) fn release_end(&self) {
        let mut state = self.state();
        if let EndDelivery::Hold(Some(last)) = mem::replace(&mut state.end, EndDelivery::Deliver) {
            self.spool.finish(&last);
        }
    }
}

/// Whether readers are told of the end of the output.
#[derive(Debug)]
enum EndDelivery {
    Deliver,
    /// Not yet: the exec is being deleted. This is the end, if it has come meanwhile.
    Hold(Option<ExecStdout>),
}

impl State {
    fn of(status: ExecStatus, exit_code: Option<i32>, pid: u32) -> Self {
        Self {
            status,
            exit_code,
            whole: None,
            started_at: None,
            ended_at: None,
            is_over: false,
            launch: None,
            pid,
            end: EndDelivery::Deliver,
            group: None,
            reached: None,
            stop_reason: None,
            waker: Weak::new(),
            input: None,
            terminal: None,
            size: None,
        }
    }

    /// Wakes the thread that observes the process: what it waits for may have changed.
    fn wake_observer(&self) {
        if let Some(waker) = self.waker.upgrade() {
            waker.wake();
        }
    }

    /// A limit ends it, or has.
    pub(super) fn set_reached(&mut self, limit: ReachedLimit) {
        if self.reached.is_none() {
            self.reached = Some(limit);
            if let Some(reason) = StopReason::of_limit(limit) {
                self.stop_reason = Some(reason);
                self.wake_observer();
            }
        }
    }

    /// What stopped it, where it has that status: a limit may be one that the kernel holds.
    pub(super) fn stop_reason_of(&self, status: &ExecStatus) -> Option<StopReason> {
        let was_stopped = matches!(status, ExecStatus::Stopping | ExecStatus::Stopped);
        self.stop_reason.filter(|reason| was_stopped || reason.is_limit())
    }
}

/// The status of an exec whose process has ended.
fn over(status: &ExecStatus, group: Option<&Group>) -> ExecStatus {
    // The signal may have been sent and not be told yet.
    let stopped = *status == ExecStatus::Stopping || group.is_some_and(Group::was_stopped);
    if stopped { ExecStatus::Stopped } else { ExecStatus::Exited }
}
