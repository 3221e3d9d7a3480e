use std::{
    collections::HashMap,
    io,
    mem::MaybeUninit,
    os::fd::OwnedFd,
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
    guardian::{Guardian, News, Ticket, report},
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
    orphaned: Vec<Guarded>,
    /// The number of the next ticket.
    ticket: u64,
    guardian: Guard,
}

/// A group, and how the guardian knows it.
#[derive(Debug)]
struct Guarded {
    group: Arc<Group>,
    ticket: Ticket,
}

/// Who kills the groups when the agent is dead.
#[derive(Debug, Default)]
enum Guard {
    /// Nobody: this process is not an agent's own, or it ends.
    #[default]
    Off,
    On(Guardian),
    /// It died, and no other could be started yet.
    Dead,
}

#[derive(Debug)]
struct Leader {
    guarded: Guarded,
    exited: oneshot::Sender<i32>,
}

/// How a process that is being started makes itself known to the guardian. It lives up to the exec.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    pipe: Arc<OwnedFd>,
    ticket: Ticket,
    scope: Scope,
}

impl Registration {
    /// Registers the group that this process leads. It is async-signal-safe.
    ///
    /// A guardian that is dead is no reason not to start: the agent tells the next one.
    pub(super) fn register(&self) {
        let _dead = report(&self.pipe, News::Led(self.ticket, Pid::this(), self.scope));
    }
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
        start: impl FnOnce(Option<Registration>) -> io::Result<Pid>,
    ) -> io::Result<(Arc<Group>, oneshot::Receiver<i32>)> {
        let mut table = lock();
        let table = table.get_or_insert_default();
        table.replace_dead_guardian();
        table.ticket += 1;
        let ticket = Ticket::new(table.ticket);
        let registration = match &table.guardian {
            Guard::On(guardian) => {
                Some(Registration { pipe: Arc::clone(guardian.pipe()), ticket, scope })
            }
            Guard::Off | Guard::Dead => None,
        };
        // What could not be executed may have registered itself before.
        let pid = start(registration).inspect_err(|_| table.guardian.forget(ticket))?;
        // The number is new: an old group that had it can't have a member any more.
        table.forget_orphaned(|group| {
            let reused = group.id() == pid;
            if reused {
                group.set_gone();
            }
            reused
        });
        let group = Arc::new(Group::led_by(pid, scope));
        let (exited, exit) = oneshot::channel();
        let guarded = Guarded { group: Arc::clone(&group), ticket };
        table.leaders.insert(pid, Leader { guarded, exited });
        Ok((group, exit))
    }

    /// Starts a guardian, which kills every group when this process dies.
    ///
    /// # Errors
    /// When it can't be started.
    pub(crate) fn start_guardian() -> io::Result<()> {
        let mut table = lock();
        table.get_or_insert_default().guardian = Guard::On(Guardian::start()?);
        Ok(())
    }

    /// Ends the guardian. What it has not been told to be gone, it kills. It blocks until that is done.
    pub(crate) fn end_guardian() {
        let mut table = lock();
        let guardian = std::mem::take(&mut table.get_or_insert_default().guardian);
        if let Guard::On(guardian) = guardian {
            guardian.end();
        }
    }
}

impl Guard {
    fn forget(&self, ticket: Ticket) {
        if let Self::On(guardian) = self {
            // A dead one is replaced when it is reaped.
            let _dead = report(guardian.pipe(), News::Gone(ticket));
        }
    }

    fn is(&self, pid: Pid) -> bool {
        matches!(self, Self::On(guardian) if guardian.pid() == pid)
    }
}

impl Table {
    /// Forgets the orphaned groups of which that is true.
    fn forget_orphaned(&mut self, is_gone: impl Fn(&Group) -> bool) {
        let guardian = &self.guardian;
        self.orphaned.retain(|guarded| {
            let gone = is_gone(&guarded.group);
            if gone {
                guardian.forget(guarded.ticket);
            }
            !gone
        });
    }

    /// Starts a guardian in the place of one that died, and tells it of all groups.
    fn replace_dead_guardian(&mut self) {
        if !matches!(self.guardian, Guard::Dead) {
            return;
        }
        let guardian = match Guardian::start() {
            Ok(guardian) => guardian,
            Err(error) => {
                tracing::error!(
                    %error,
                    "no guardian can be started: commands will outlive an agent that is killed"
                );
                return;
            }
        };
        let led = self.leaders.values().map(|leader| &leader.guarded);
        for Guarded { group, ticket } in led.chain(&self.orphaned) {
            let news = News::Led(*ticket, group.id(), group.scope());
            let _dead = report(guardian.pipe(), news);
        }
        self.guardian = Guard::On(guardian);
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
            // An orphan, or the guardian.
            let status = reap(pid);
            if table.guardian.is(pid) {
                tracing::error!(?status, "the guardian has ended; another one takes its place");
                table.guardian = Guard::Dead;
            }
            continue;
        };
        let Guarded { group, ticket } = leader.guarded;
        let code = group.reap_leader(|| reap(pid));
        if group.is_gone() {
            table.guardian.forget(ticket);
        } else {
            table.orphaned.push(Guarded { group, ticket });
        }
        if let Some(code) = code {
            // No receiver is left where the agent itself is about to end.
            let _gone = leader.exited.send(code);
        }
    }
    table.forget_orphaned(Group::is_gone);
    table.replace_dead_guardian();
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
