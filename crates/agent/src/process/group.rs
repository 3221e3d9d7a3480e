use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::{Instant, sleep};

/// A process group that one exec's process leads: that process and its descendants that did not
/// leave the group.
///
/// Its number belongs to it only as long as the leader has not been reaped or a member lives: after
/// that the system may give it to a stranger. So a group that was seen empty is gone for ever, and
/// every signal is sent under the same lock as the reaping of the leader.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    stage: Mutex<Stage>,
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
    pub(super) fn led_by(leader: Pid) -> Self {
        Self { id: leader, stage: Mutex::new(Stage::Led) }
    }

    /// The number of the group, which is also the leader's process id.
    pub(crate) fn id(&self) -> Pid {
        self.id
    }

    /// Sends a signal to every member. A group that is gone takes it without an effect.
    ///
    /// # Errors
    /// `EPERM` when the agent may not signal any of the members.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let mut stage = self.stage();
        if *stage == Stage::Gone {
            return Ok(());
        }
        match kill(group_target(self.id), signal) {
            Err(Errno::ESRCH) => {
                if *stage == Stage::Orphaned {
                    *stage = Stage::Gone;
                }
                Ok(())
            }
            result => Ok(result?),
        }
    }

    /// Waits until no member is left, for at most `patience`; says whether that came true.
    ///
    /// The system reports the end of a group in no way at all, so this polls. Members that are dead
    /// do not hold it up: the agent reaps the orphans.
    pub(crate) async fn gone_within(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_millis(1);
        while !self.is_gone() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(25));
        }
        true
    }

    /// Looks whether a member is left.
    pub(crate) fn is_gone(&self) -> bool {
        let mut stage = self.stage();
        if *stage == Stage::Orphaned && kill(group_target(self.id), None) == Err(Errno::ESRCH) {
            *stage = Stage::Gone;
        }
        *stage == Stage::Gone
    }

    /// Reaps the leader with `reap`, so that no signal can be sent in between.
    pub(super) fn reap_leader<T>(&self, reap: impl FnOnce() -> T) -> T {
        let mut stage = self.stage();
        let reaped = reap();
        *stage = match kill(group_target(self.id), None) {
            Err(Errno::ESRCH) => Stage::Gone,
            _ => Stage::Orphaned,
        };
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

/// `kill` takes a group as its negated number.
fn group_target(id: Pid) -> Pid {
    Pid::from_raw(-id.as_raw())
}
