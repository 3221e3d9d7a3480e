use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Pid, getpgid},
};
use tokio::time::{Instant, sleep};

use super::session;
use crate::blocking::{self, NotRun};

/// How often a session is searched for members that were not there before.
const SESSION_ROUNDS: u32 = 32;

/// The processes of one exec: the process group that its process leads, and with a terminal all of
/// the session that it leads too, since a shell in it gives each of its jobs a group of its own.
///
/// Its number belongs to it only as long as the leader has not been reaped or a member lives: after
/// that the system may give it to a stranger. So a group that was seen empty is gone for ever, and
/// every signal is sent under the same lock as the reaping of the leader. The same holds for a session.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    scope: Scope,
    stage: Mutex<Stage>,
    /// It was told to stop before its leader was reaped.
    stopped: AtomicBool,
}

/// What of an exec is signalled besides its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Group,
    Session,
}

/// Whom a signal reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    Members,
    /// No process is left.
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The leader lives, or waits to be reaped.
    Led,
    /// The leader has been reaped; members may live on.
    Orphaned,
    Gone,
}

impl Group {
    /// The group of a leader that was just started.
    pub(super) fn led_by(leader: Pid, scope: Scope) -> Self {
        Self { id: leader, scope, stage: Mutex::new(Stage::Led), stopped: AtomicBool::new(false) }
    }

    /// The number of the group, which is also the leader's process id.
    pub(crate) fn id(&self) -> Pid {
        self.id
    }

    pub(super) fn scope(&self) -> Scope {
        self.scope
    }

    /// Does `job`, where it holds up nobody: to find the members of a session is a look at all processes, so
    /// that is done on a thread for it. It is done also where the future is dropped.
    ///
    /// # Errors
    /// When it panics on that thread.
    pub(crate) async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        match self.scope {
            Scope::Group => Ok(job(self)),
            Scope::Session => {
                let group = Arc::clone(self);
                blocking::scan(move || job(&group)).await
            }
        }
    }

    /// Sends a signal to every member; the null signal only asks whether there is one (POSIX, `kill`).
    ///
    /// # Errors
    /// `EPERM` when the agent may not signal any of the members.
    pub(crate) fn signal(&self, signal: impl Into<Option<Signal>>) -> io::Result<Reached> {
        let signal = signal.into();
        let mut stage = self.stage();
        if *stage == Stage::Gone {
            return Ok(Reached::Nobody);
        }
        let outcome = kill(group_target(self.id), signal);
        if outcome.is_ok() && *stage == Stage::Led && signal.is_some_and(stops) {
            self.stopped.store(true, Ordering::Release);
        }
        let in_session = self.signal_session(signal);
        match outcome {
            Err(Errno::ESRCH) => {
                *stage = self.stage_without_group(*stage);
                Ok(in_session)
            }
            result => Ok(result.map(|()| Reached::Members)?),
        }
    }

    /// Sends a signal to the members of the session in other groups. Unlike a group they are signalled
    /// one by one and may fork meanwhile, so it looks again as long as it finds new ones, within reason.
    fn signal_session(&self, signal: Option<Signal>) -> Reached {
        if self.scope == Scope::Group {
            return Reached::Nobody;
        }
        let mut signalled = BTreeSet::new();
        for _ in 0..SESSION_ROUNDS {
            let members = session::members(self.id);
            let new: Vec<_> = members
                .into_iter()
                .filter(|member| getpgid(Some(*member)) != Ok(self.id))
                .filter(|member| signalled.insert(*member))
                .collect();
            if new.is_empty() {
                break;
            }
            if let Some(signal) = signal {
                for member in new {
                    session::signal_member(self.id, member, signal);
                }
            }
        }
        if signalled.is_empty() { Reached::Nobody } else { Reached::Members }
    }

    /// What becomes of the stage when the group has no member.
    fn stage_without_group(&self, stage: Stage) -> Stage {
        let rest = self.scope == Scope::Session && !session::members(self.id).is_empty();
        if stage == Stage::Led || rest { stage } else { Stage::Gone }
    }

    /// Waits until no member is left, for at most `limit`; returns whether that came true.
    ///
    /// The system reports the end of a group in no way at all, so this polls. Members that are dead
    /// do not hold it up: the agent reaps the orphans.
    pub(crate) async fn gone_within(self: &Arc<Self>, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_millis(1);
        while !self.with(Self::is_gone).await.unwrap_or(false) {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(25));
        }
        true
    }

    /// Whether a signal that stops it was sent while its leader had not been reaped. It is known for good
    /// when the leader's exit code is.
    pub(crate) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether it was seen that no member is left.
    pub(crate) fn is_known_gone(&self) -> bool {
        *self.stage() == Stage::Gone
    }

    /// Looks whether a member is left. In a session it may take long.
    pub(crate) fn is_gone(&self) -> bool {
        let mut stage = self.stage();
        if *stage == Stage::Orphaned && kill(group_target(self.id), None) == Err(Errno::ESRCH) {
            *stage = self.stage_without_group(*stage);
        }
        *stage == Stage::Gone
    }

    /// Reaps the leader with `reap`, so that no signal can be sent in between.
    pub(super) fn reap_leader<T>(&self, reap: impl FnOnce() -> T) -> T {
        let mut stage = self.stage();
        let reaped = reap();
        *stage = Stage::Orphaned;
        if kill(group_target(self.id), None) == Err(Errno::ESRCH) {
            *stage = self.stage_without_group(*stage);
        }
        reaped
    }

    /// Its number now belongs to another.
    pub(super) fn set_gone(&self) {
        *self.stage() = Stage::Gone;
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is one of those that are sent to stop an exec.
pub(crate) fn stops(signal: Signal) -> bool {
    matches!(signal, Signal::SIGTERM | Signal::SIGKILL)
}

/// `kill` takes a group as its negated number.
fn group_target(id: Pid) -> Pid {
    Pid::from_raw(-id.as_raw())
}
