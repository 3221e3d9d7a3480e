use std::{
    collections::HashMap,
    io,
    os::fd::OwnedFd,
    panic::catch_unwind,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use nix::{libc, unistd::Pid};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{Notify, oneshot},
    time::sleep,
};

use super::{
    exit::Exited,
    group::{Group, Scope},
    guardian::{GroupId, Guardian, Message, report},
    session,
    wait::{next_ended, reap},
    waker::Waker,
};

/// How often the groups that have lost their leader are looked at: one should be seen empty before its
/// number goes to another. The end of a last member tells of that only where the agent is its parent.
///
/// While something is being started, also how often orphans are looked for in the groups that have their
/// leader: to ask for a group's members takes a walk over all threads and children of the agent.
const INTERVAL: Duration = Duration::from_millis(500);

/// Waits for every child of the agent, whoever started it, so that none stays a zombie.
///
/// The agent is the "child subreaper" of its commands: a descendant that loses its parent becomes
/// the agent's child, whatever the init process is or does.
///
/// There is one table, since waiting for any child concerns the whole process. Its lock is not held
/// while a process is started, which takes as long as the file system that the program is on. No child
/// may be reaped before it is in the table, unless it could not be executed. So while something is being
/// started only members of known groups are reaped: a process that is being started is in the agent's
/// group, or in a new one of its own.
#[derive(Debug)]
pub(crate) struct Reaper;

/// What the reaper works with.
#[derive(Debug)]
pub(crate) struct Tools {
    /// It says that a child has ended.
    signal: Signal,
    /// A thread of its own, since it may have to wait for the lock: those of the runtime may all be
    /// held up by the file system. It answers whether it is to look again soon without being told.
    thread: mpsc::Sender<oneshot::Sender<bool>>,
}

#[derive(Debug, Default)]
struct Table {
    leaders: HashMap<Pid, Leader>,
    /// Groups that outlived their leader.
    orphaned: Vec<Guarded>,
    /// The number of the last group's id.
    last_group_id: u64,
    /// How many processes are being started.
    starting: usize,
    /// When orphans were last looked for in all groups.
    searched: Option<Instant>,
    guardian: Guard,
}

/// A group, and how the guardian knows it.
#[derive(Debug)]
struct Guarded {
    group: Arc<Group>,
    group_id: GroupId,
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
    exited: Exited,
}

/// How a process that is being started makes itself known to the guardian. It lives up to the exec.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    pipe: Arc<OwnedFd>,
    group_id: GroupId,
    scope: Scope,
}

impl Registration {
    /// Registers the group that this process leads. It is async-signal-safe.
    ///
    /// A guardian that is dead is no reason not to start: the agent tells the next one.
    pub(super) fn register(&self) {
        let _dead = report(&self.pipe, Message::Led(self.group_id, Pid::this(), self.scope));
    }
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);
/// Told after each start: its process, or what it held up, may have ended already.
static STARTED: Notify = Notify::const_new();

impl Reaper {
    /// Makes this process the reaper of its descendants.
    ///
    /// # Errors
    /// When the system refuses that, the signal handler or a thread.
    pub(crate) fn adopt_orphans() -> io::Result<Tools> {
        // Process 1 of a namespace is theirs anyway; qemu-user, which runs an image of another machine, knows
        // no subreaper.
        if std::process::id() != 1 {
            nix::sys::prctl::set_child_subreaper(true)?;
        }
        session::open_processes();
        let (thread, rounds) = mpsc::channel::<oneshot::Sender<bool>>();
        thread::Builder::new()
            .name("reaper".into())
            .spawn(move || each_round(&rounds, reap_all))?;
        Ok(Tools { signal: signal(SignalKind::child())?, thread })
    }

    /// Reaps children whenever some have ended. Never returns.
    pub(crate) async fn run(Tools { mut signal, thread }: Tools) {
        loop {
            let (round, reaped) = oneshot::channel();
            if thread.send(round).is_err() {
                return;
            }
            let Ok(again) = reaped.await else {
                return;
            };
            tokio::select! {
                signal = signal.recv() => if signal.is_none() {
                    return;
                },
                () = STARTED.notified() => {}
                () = sleep(INTERVAL), if again => {}
            }
        }
    }

    /// Starts a process with `start`, as the leader of a session and group of its own. The receiver
    /// gets its exit code, and `waker` is woken then.
    pub(super) fn start<E>(
        scope: Scope,
        waker: Arc<Waker>,
        start: impl FnOnce(Option<Registration>) -> Result<Pid, E>,
    ) -> Result<(Arc<Group>, oneshot::Receiver<i32>), E> {
        let (group_id, registration) = lock().get_or_insert_default().begin_start(scope);
        let mut under_way = StartInProgress { ended: false };
        let started = start(registration.clone());
        let mut table = lock();
        under_way.ended = true;
        table.get_or_insert_default().end_start(scope, waker, group_id, registration, started)
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

    /// Ends the guardian. What it has not been told to be gone, it kills. It blocks until that is done,
    /// unless a process is still being started: that is left to the guardian, which outlives the agent
    /// until then.
    pub(crate) fn end_guardian() {
        let mut table = lock();
        let table = table.get_or_insert_default();
        let guardian = std::mem::take(&mut table.guardian);
        if let Guard::On(guardian) = guardian
            && table.starting == 0
        {
            guardian.end();
        }
    }
}

/// A start that is under way. Its end is told in any case, also where it panics: as long as there is one
/// not all that have ended are reaped.
struct StartInProgress {
    /// The table knows of its end.
    ended: bool,
}

impl Drop for StartInProgress {
    fn drop(&mut self) {
        if !self.ended {
            lock().get_or_insert_default().starting -= 1;
        }
        STARTED.notify_one();
    }
}

impl Guard {
    fn forget(&self, group_id: GroupId) {
        if let Self::On(guardian) = self {
            // A dead one is replaced when it is reaped.
            let _dead = report(guardian.pipe(), Message::Gone(group_id));
        }
    }

    fn is(&self, pid: Pid) -> bool {
        matches!(self, Self::On(guardian) if guardian.pid() == pid)
    }
}

impl Table {
    /// From now on only members of known groups are reaped. Gives what the new process is known by.
    fn begin_start(&mut self, scope: Scope) -> (GroupId, Option<Registration>) {
        self.replace_dead_guardian();
        self.starting += 1;
        self.last_group_id += 1;
        let group_id = GroupId::new(self.last_group_id);
        let registration = match &self.guardian {
            Guard::On(guardian) => {
                Some(Registration { pipe: Arc::clone(guardian.pipe()), group_id, scope })
            }
            Guard::Off | Guard::Dead => None,
        };
        (group_id, registration)
    }

    fn end_start<E>(
        &mut self,
        scope: Scope,
        waker: Arc<Waker>,
        group_id: GroupId,
        registration: Option<Registration>,
        started: Result<Pid, E>,
    ) -> Result<(Arc<Group>, oneshot::Receiver<i32>), E> {
        self.starting -= 1;
        // What could not be executed may have registered itself before.
        let pid = started.inspect_err(|_| self.guardian.forget(group_id))?;
        // The number is new: an old group that had it can't have a member any more.
        self.forget_orphaned(|group| {
            let reused = group.id() == pid;
            if reused {
                group.set_gone();
            }
            reused
        });
        if let Guard::On(guardian) = &self.guardian
            && registration.is_none_or(|known| !Arc::ptr_eq(&known.pipe, guardian.pipe()))
        {
            // It has taken the place of the one to which the process made itself known.
            let _dead = report(guardian.pipe(), Message::Led(group_id, pid, scope));
        }
        let group = Arc::new(Group::led_by(pid, scope));
        let (exited, exit) = Exited::new(waker);
        let guarded = Guarded { group: Arc::clone(&group), group_id };
        self.leaders.insert(pid, Leader { guarded, exited });
        Ok((group, exit))
    }

    /// Reaps a child that has ended, left as it is up to now.
    fn reap(&mut self, pid: Pid) {
        let Some(leader) = self.leaders.remove(&pid) else {
            // An orphan, or the guardian.
            let status = reap(pid);
            if self.guardian.is(pid) {
                tracing::error!(?status, "the guardian has ended; another one takes its place");
                self.guardian = Guard::Dead;
            }
            return;
        };
        let Guarded { group, group_id } = leader.guarded;
        let code = group.reap_leader(|| reap(pid));
        if group.is_gone() {
            self.guardian.forget(group_id);
        } else {
            self.orphaned.push(Guarded { group, group_id });
        }
        if let Some(code) = code {
            leader.exited.tell(code);
        }
    }

    /// Children that have ended and may be reaped; none only where there are none. While something is
    /// being started, orphans in a group that has its leader are looked for only on demand.
    fn ended(&self, search: bool) -> Vec<Pid> {
        if self.starting == 0 {
            return next_ended(libc::P_ALL, None).into_iter().collect();
        }
        let guardian = match &self.guardian {
            Guard::On(guardian) => next_ended(libc::P_PID, Some(guardian.pid())),
            Guard::Off | Guard::Dead => None,
        };
        let led = self.leaders.keys().filter_map(|leader| {
            let ended = next_ended(libc::P_PID, Some(*leader));
            ended.or_else(|| search.then(|| next_ended(libc::P_PGID, Some(*leader))).flatten())
        });
        // One that has the number of the group is a new process, not yet in the table.
        let orphaned = self.orphaned.iter().filter_map(|guarded| {
            let group = guarded.group.id();
            next_ended(libc::P_PGID, Some(group)).filter(|ended| *ended != group)
        });
        guardian.into_iter().chain(led).chain(orphaned).collect()
    }

    /// Reaps all that have ended and may be reaped.
    fn reap_ended(&mut self) {
        let search = self.searched.is_none_or(|searched| searched.elapsed() >= INTERVAL);
        loop {
            let ended = self.ended(search);
            if ended.is_empty() {
                break;
            }
            for pid in ended {
                self.reap(pid);
            }
        }
        if search || self.starting == 0 {
            self.searched = Some(Instant::now());
        }
    }

    /// Forgets the orphaned groups of which that is true.
    fn forget_orphaned(&mut self, is_gone: impl Fn(&Group) -> bool) {
        let guardian = &self.guardian;
        self.orphaned.retain(|guarded| {
            let gone = is_gone(&guarded.group);
            if gone {
                guardian.forget(guarded.group_id);
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
        for Guarded { group, group_id } in led.chain(&self.orphaned) {
            let message = Message::Led(*group_id, group.id(), group.scope());
            let _dead = report(guardian.pipe(), message);
        }
        self.guardian = Guard::On(guardian);
    }
}

fn lock() -> MutexGuard<'static, Option<Table>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does the same for each round that is asked for, and answers whether to look again soon.
fn each_round(rounds: &mpsc::Receiver<oneshot::Sender<bool>>, reap: fn() -> bool) {
    for round in rounds {
        let again = catch_unwind(reap).unwrap_or_else(|_| {
            tracing::error!("the agent failed while it reaped its children; it tries again");
            true
        });
        // The runtime ends.
        let _gone = round.send(again);
    }
}

/// Reaps what has ended; says whether to look again soon: a group is left that has lost its leader, or
/// not all were looked at.
fn reap_all() -> bool {
    let mut table = lock();
    let table = table.get_or_insert_default();
    table.reap_ended();
    table.forget_orphaned(Group::is_gone);
    table.replace_dead_guardian();
    !table.orphaned.is_empty() || table.starting > 0
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::CommandExt,
        process::{Child, Command},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    use rustix::event::epoll;

    use super::*;

    fn waker() -> Arc<Waker> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        Arc::new(Waker::new(&Arc::new(queue), 0).unwrap())
    }

    /// A process that has ended, and has not been reaped, in a group of that number; 0 is its own.
    fn ended(group: i32) -> (Child, Pid) {
        let child = Command::new("true").process_group(group).spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        (child, pid)
    }

    #[test]
    fn while_a_process_is_being_started_only_members_of_known_groups_are_reaped() {
        let mut table = Table { starting: 1, ..Table::default() };
        let (mut leader, pid) = ended(0);
        let guarded = || Guarded {
            group: Arc::new(Group::led_by(pid, Scope::Group)),
            group_id: GroupId::new(1),
        };
        // As it is before it is known.
        assert_eq!(table.ended(true), []);
        // It has the number of an old group.
        table.orphaned.push(guarded());
        assert_eq!(table.ended(true), []);
        table.orphaned.clear();
        let (exited, _exit) = Exited::new(waker());
        table.leaders.insert(pid, Leader { guarded: guarded(), exited });
        assert_eq!(table.ended(false), [pid]);

        let (mut member, orphan) = ended(pid.as_raw());
        leader.wait().unwrap();
        // Not each time: it takes long.
        assert_eq!(table.ended(false), []);
        assert_eq!(table.ended(true), [orphan]);
        table.leaders.clear();
        assert_eq!(table.ended(true), []);
        table.orphaned.push(guarded());
        assert_eq!(table.ended(false), [orphan]);
        table.starting = 0;
        // Of all children, also those of other tests.
        assert_eq!(table.ended(false).len(), 1);
        member.wait().unwrap();
    }

    #[test]
    fn a_round_that_panics_is_followed_by_others() {
        static ROUNDS: AtomicUsize = AtomicUsize::new(0);
        let (thread, rounds) = mpsc::channel();
        let reaping = thread::spawn(move || {
            each_round(&rounds, || {
                assert_ne!(ROUNDS.fetch_add(1, Ordering::Relaxed), 0, "as it is to");
                false
            });
        });
        for again in [true, false] {
            let (round, reaped) = oneshot::channel();
            thread.send(round).unwrap();
            assert_eq!(reaped.blocking_recv(), Ok(again));
        }
        drop(thread);
        reaping.join().unwrap();
    }

    #[test]
    fn a_start_that_panics_does_not_count_as_one_that_is_under_way() {
        let start = || Reaper::start::<()>(Scope::Group, waker(), |_| panic!("as it is to"));
        assert!(catch_unwind(start).is_err());
        // Other tests may be starting something.
        let deadline = Instant::now() + Duration::from_mins(1);
        while lock().get_or_insert_default().starting > 0 {
            assert!(Instant::now() < deadline, "it counts for ever");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
