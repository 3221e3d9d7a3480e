use std::{
    io,
    panic::catch_unwind,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
};

use nix::unistd::Pid;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{Notify, oneshot},
    time::sleep,
};

use super::{
    child_table::{CHECK_INTERVAL, ChildTable},
    group::{Group, Scope},
    guardian::{Guardian, Registration},
    session,
    waker::Waker,
};

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

static TABLE: Mutex<Option<ChildTable>> = Mutex::new(None);
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
                () = sleep(CHECK_INTERVAL), if again => {}
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
        // Held meanwhile: nobody else may reap it.
        let mut table = lock();
        table.get_or_insert_default().set_guardian(Guardian::start()?);
        Ok(())
    }

    /// Ends the guardian. What it has not been told to be gone, it kills. It blocks until that is done,
    /// unless a process is still being started: that is left to the guardian, which outlives the agent
    /// until then.
    pub(crate) fn end_guardian() {
        let mut table = lock();
        let table = table.get_or_insert_default();
        if let Some(guardian) = table.take_guardian()
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

fn lock() -> MutexGuard<'static, Option<ChildTable>> {
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

/// Reaps what has ended; returns whether to look again soon: a group is left that has lost its leader, or
/// not all were looked at.
fn reap_all() -> bool {
    let mut table = lock();
    let table = table.get_or_insert_default();
    table.reap_ended();
    let has_orphaned_groups = table.forget_gone();
    table.replace_dead_guardian();
    has_orphaned_groups || table.starting > 0
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::{Duration, Instant},
    };

    use rustix::event::epoll;

    use super::*;

    fn waker() -> Arc<Waker> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        Arc::new(Waker::new(&Arc::new(queue), 0).unwrap())
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
