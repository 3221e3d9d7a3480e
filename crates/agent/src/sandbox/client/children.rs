//! The agent's own children: its box, and what a box left that died.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    thread::sleep as block,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    cgroups,
    sandbox::{
        environment::Patience,
        mark::is_marked,
        processes::{self, Process},
    },
};

/// How soon it is looked again whether something has ended.
const PAUSE: Duration = Duration::from_millis(10);
/// How long what a dead box left may take to be gone: only the system itself can hold it up.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Held by whoever waits for a certain child.
static REAPING: Mutex<()> = Mutex::new(());

/// Keeps children from being reaped by others.
pub(crate) fn hold_reaping() -> MutexGuard<'static, ()> {
    REAPING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the reaper of what a box leaves, in a task of its own: with a dead box its children lose their parent. It needs a
/// runtime.
///
/// # Errors
/// When the system refuses that, or the signal handler.
pub(crate) fn reap_children() -> io::Result<()> {
    // Process 1 of a namespace is the parent of orphans anyway; qemu-user, which runs programs of another machine, knows no subreaper.
    if std::process::id() != 1 {
        nix::sys::prctl::set_child_subreaper(true)?;
    }
    let mut ended = signal(SignalKind::child())?;
    tokio::spawn(async move {
        while ended.recv().await.is_some() {
            while !try_reap() {
                sleep(PAUSE).await;
            }
        }
    });
    Ok(())
}

/// Reaps all that have ended, unless somebody waits for one of them; returns whether it did.
fn try_reap() -> bool {
    let _held = match REAPING.try_lock() {
        Err(TryLockError::WouldBlock) => return false,
        held => held.unwrap_or_else(|_| hold_reaping()),
    };
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if status == WaitStatus::StillAlive {
            break;
        }
    }
    true
}

/// Waits until a child is gone, for so long; returns whether it is.
pub(super) fn is_gone_within(pid: Pid, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    // Another may reap it.
    while waitpid(pid, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive) {
        if Instant::now() >= deadline {
            return false;
        }
        block(PAUSE);
    }
    true
}

/// A group that a dead box had: its number, and whether all of the session of that number belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeftGroup {
    pub(super) id: Pid,
    pub(super) is_session: bool,
}

impl LeftGroup {
    fn has(self, process: &Process) -> bool {
        process.group == self.id || self.is_session && process.session == self.id
    }
}

/// Kills what a dead box has left: of the groups, of what has its marks, and of what is in its cgroup. It waits until that is gone.
pub(super) fn kill_left(groups: &HashSet<LeftGroup>, marks: &str, cgroup: Option<&Path>) {
    let deadline = Instant::now() + KILL_TIMEOUT;
    let is_left = |process: &Process, patience: &Patience| {
        groups.iter().any(|group| group.has(process)) || is_marked(process.pid, marks, patience)
    };
    let mut pause = Duration::from_millis(1);
    loop {
        let patience = Patience::default();
        let is_populated = cgroup.is_some_and(kill_contained);
        let processes = processes::all();
        let parents: HashMap<Pid, Pid> =
            processes.iter().map(|process| (process.pid, process.parent)).collect();
        let mut left = processes;
        // A number may be that of a stranger's group by now.
        left.retain(|process| is_descendant(process.pid, &parents) && is_left(process, &patience));
        if left.is_empty() && !is_populated {
            break;
        }
        if Instant::now() >= deadline {
            tracing::error!(?left, "some processes of a box that died can't be killed");
            break;
        }
        for process in left {
            processes::signal(process.pid, Signal::SIGKILL, |process| is_left(process, &patience));
        }
        block(pause);
        pause = (pause * 2).min(Duration::from_millis(25));
    }
}

/// Kills what is in the cgroup of a dead box; returns whether something is.
fn kill_contained(cgroup: &Path) -> bool {
    let is_populated = cgroups::is_populated(cgroup);
    if is_populated {
        // Where it can't be it is found by the groups.
        let _killed = cgroups::kill(cgroup);
    }
    is_populated
}

/// Whether a process descends from this one.
fn is_descendant(pid: Pid, parents: &HashMap<Pid, Pid>) -> bool {
    let mut ancestor = parents.get(&pid);
    // There are no circles, unless the processes changed while they were read.
    for _ in 0..parents.len() {
        match ancestor {
            Some(pid) if *pid == Pid::this() => return true,
            Some(pid) => ancestor = parents.get(pid),
            None => return false,
        }
    }
    false
}
