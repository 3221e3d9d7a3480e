use std::collections::BTreeSet;

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::sandbox::{
    processes::{self, Process},
    protocol::{ExecKey, Reached, Stdio, stops},
};

/// How often it is looked for members that were not there before.
const ROUNDS: u32 = 32;

/// The processes of one command: the process group that its process leads, and with a terminal all of the session that it leads too,
/// since a shell in it gives each of its jobs a group of its own.
///
/// Its number belongs to it only as long as the leader has not been reaped or a member lives: after that the system may give it to a
/// stranger. So a group that was seen empty is gone for ever. The same holds for a session.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: ExecKey,
    id: Pid,
    scope: Scope,
    stage: Stage,
    /// It was told to stop before its leader was reaped.
    pub(super) stopped: bool,
}

/// What of a command is signalled besides its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Group,
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The leader lives, or waits to be reaped.
    Led,
    /// The leader has been reaped; members may live on.
    Orphaned,
}

impl Group {
    /// The group of a leader that was just started.
    pub(super) fn led_by(leader: Pid, key: ExecKey, stdio: Stdio) -> Self {
        let scope = match stdio {
            Stdio::Pipes => Scope::Group,
            Stdio::Terminal { .. } => Scope::Session,
        };
        Self { key, id: leader, scope, stage: Stage::Led, stopped: false }
    }

    /// The number of the group, which is also the leader's process id.
    pub(super) fn id(&self) -> Pid {
        self.id
    }

    /// The leader has been reaped.
    pub(super) fn set_orphaned(&mut self) {
        self.stage = Stage::Orphaned;
    }

    pub(super) fn is_orphaned(&self) -> bool {
        self.stage == Stage::Orphaned
    }

    /// Looks whether no member is left.
    pub(super) fn is_empty(&self) -> bool {
        self.is_orphaned() && self.has_no_group() && self.others().is_empty()
    }

    /// Whether nobody is in the process group itself.
    fn has_no_group(&self) -> bool {
        kill(self.target(), None) == Err(Errno::ESRCH)
    }

    /// `kill` takes a group as its negated number.
    fn target(&self) -> Pid {
        Pid::from_raw(-self.id.as_raw())
    }

    /// Sends a signal to every member; none only asks whether there is one (POSIX, `kill`, "the null signal").
    ///
    /// # Errors
    /// `EPERM` when the box may not signal any of the group.
    pub(super) fn signal(&mut self, signal: Option<Signal>) -> Result<Reached, Errno> {
        let outcome = kill(self.target(), signal);
        if outcome.is_ok() && !self.is_orphaned() && signal.is_some_and(stops) {
            self.stopped = true;
        }
        let others = self.signal_others(signal);
        match outcome {
            Err(Errno::ESRCH) => Ok(others),
            outcome => outcome.map(|()| Reached::Members),
        }
    }

    /// Sends a signal to the members outside of the process group. Unlike a group they are signalled one by one and may fork
    /// meanwhile, so it looks again as long as it finds new ones, within reason.
    fn signal_others(&self, signal: Option<Signal>) -> Reached {
        let mut signalled = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut others = self.others();
            others.retain(|process| signalled.insert(process.pid));
            if others.is_empty() {
                break;
            }
            if let Some(signal) = signal {
                for process in others {
                    processes::signal(process.pid, signal, |process| self.is_other(process));
                }
            }
        }
        if signalled.is_empty() { Reached::Nobody } else { Reached::Members }
    }

    /// The living members outside of the process group.
    fn others(&self) -> Vec<Process> {
        match self.scope {
            Scope::Group => Vec::new(),
            Scope::Session => {
                let mut others = processes::all();
                others.retain(|process| self.is_other(process));
                others
            }
        }
    }

    fn is_other(&self, process: &Process) -> bool {
        process.session == self.id && process.group != self.id
    }
}
