use std::{
    collections::HashMap,
    io,
    mem::MaybeUninit,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::{errno::Errno, libc, unistd::Pid};
use rustix::process::WaitOptions;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    time::sleep,
};

use super::{
    exit_code::exit_code,
    group::{Group, Scope},
};

/// How often the groups that have lost their leader are looked at: one should be seen empty before its
/// number goes to another. The end of a last member tells of that only where the agent is its parent.
const ORPHANED_INTERVAL: Duration = Duration::from_millis(500);

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
            let Ok(orphaned) = tokio::task::spawn_blocking(reap_all).await else {
                return;
            };
            tokio::select! {
                signal = signals.0.recv() => if signal.is_none() {
                    return;
                },
                () = sleep(ORPHANED_INTERVAL), if orphaned => {}
            }
        }
    }

    /// Starts a process with `start`, as the leader of a session and group of its own. The receiver
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

/// Reaps what has ended; says whether a group is left that has lost its leader.
fn reap_all() -> bool {
    let mut table = lock();
    let table = table.get_or_insert_default();
    while let Some(pid) = next_ended() {
        let Some(leader) = table.leaders.remove(&pid) else {
            // An orphan: nobody asks for its exit code.
            let _orphan = reap(pid);
            continue;
        };
        let code = leader.group.reap_leader(|| reap(pid));
        if !leader.group.is_gone() {
            table.orphaned.push(leader.group);
        }
        if let Some(code) = code {
            // No receiver is left where the agent itself is about to end.
            let _gone = leader.exited.send(code);
        }
    }
    table.orphaned.retain(|group| !group.is_gone());
    !table.orphaned.is_empty()
}

/// A child that has ended, left as it is: its number can't be given away before it is reaped.
fn next_ended() -> Option<Pid> {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `info` is valid to write to, and all zeros are a valid value of it too: that is
        // what stays where no child has ended. The number is there after every success (POSIX,
        // waitid). Safe wrappers refuse a real-time signal, or do not give the number.
        #[allow(unsafe_code)]
        let (result, pid) = unsafe {
            let result = libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), flags);
            (result, info.assume_init().si_pid())
        };
        match Errno::result(result) {
            Ok(_) => return Some(Pid::from_raw(pid)).filter(|pid| pid.as_raw() > 0),
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Reaps a child that has ended, and gives its exit code.
fn reap(pid: Pid) -> Option<i32> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw());
    loop {
        match rustix::process::waitpid(pid, WaitOptions::empty()) {
            Ok(ended) => return exit_code(ended?.1),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}
