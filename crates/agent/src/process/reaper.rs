use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nix::{
    errno::Errno,
    sys::wait::{Id, WaitPidFlag, waitid, waitpid},
    unistd::Pid,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

use super::{
    exit_code::exit_code,
    group::{Group, Scope},
};

/// Waits for every child of the agent, whoever started it, so that none stays a zombie.
///
/// The agent is the "child subreaper" of its commands: a descendant that loses its parent becomes
/// the agent's child, whatever the init process is or does.
///
/// There is one table, since waiting for any child concerns the whole process. Its lock is held
/// while a process is started and while children are reaped: no child is reaped before it is in the
/// table, and the standard library's own wait for a child that could not execute is left alone.
#[derive(Debug)]
pub(crate) struct Reaper;

/// The signal that says that a child has ended.
#[derive(Debug)]
pub(crate) struct Signals(Signal);

#[derive(Debug, Default)]
struct Table {
    leaders: HashMap<Pid, Leader>,
    /// Groups that outlived their leader.
    orphaned: Vec<Arc<Group>>,
}

#[derive(Debug)]
struct Leader {
    group: Arc<Group>,
    exited: oneshot::Sender<i32>,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

impl Reaper {
    /// Makes this process the reaper of its descendants.
    ///
    /// # Errors
    /// When the system refuses that, or the signal handler.
    pub(crate) fn adopt_orphans() -> io::Result<Signals> {
        nix::sys::prctl::set_child_subreaper(true)?;
        signal(SignalKind::child()).map(Signals)
    }

    /// Reaps children whenever some have ended. Never returns.
    pub(crate) async fn run(mut signals: Signals) {
        loop {
            // Taking the lock may have to wait for a process that is being started.
            if tokio::task::spawn_blocking(reap_all).await.is_err()
                || signals.0.recv().await.is_none()
            {
                return;
            }
        }
    }

    /// Starts a process with `start`, as the leader of a group or session of its own. The receiver
    /// gets its exit code.
    pub(super) fn start(
        scope: Scope,
        start: impl FnOnce() -> io::Result<Pid>,
    ) -> io::Result<(Arc<Group>, oneshot::Receiver<i32>)> {
        let mut table = lock();
        let table = table.get_or_insert_default();
        let pid = start()?;
        // The number is new: an old group that had it can't have a member any more.
        table.orphaned.retain(|group| {
            let reused = group.id() == pid;
            if reused {
                group.set_gone();
            }
            !reused
        });
        let group = Arc::new(Group::led_by(pid, scope));
        let (exited, exit) = oneshot::channel();
        let leader = Leader { group: Arc::clone(&group), exited };
        table.leaders.insert(pid, leader);
        Ok((group, exit))
    }
}

fn lock() -> MutexGuard<'static, Option<Table>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reap_all() {
    let mut table = lock();
    let table = table.get_or_insert_default();
    while let Some(pid) = next_ended() {
        let Some(leader) = table.leaders.remove(&pid) else {
            // An orphan: nobody asks for its exit code.
            let _orphan = waitpid(pid, None);
            continue;
        };
        let status = leader.group.reap_leader(|| waitpid(pid, None));
        if !leader.group.is_gone() {
            table.orphaned.push(leader.group);
        }
        if let Some(code) = status.ok().and_then(exit_code) {
            // No receiver is left where the agent itself is about to end.
            let _gone = leader.exited.send(code);
        }
    }
    // The death of a last member is mostly a reason for this call, so a group is seen empty before
    // its number can go to another.
    table.orphaned.retain(|group| !group.is_gone());
}

/// A child that has ended, left as it is: its number can't be given away before it is reaped.
fn next_ended() -> Option<Pid> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        match waitid(Id::All, flags) {
            Ok(status) => return status.pid(),
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}
