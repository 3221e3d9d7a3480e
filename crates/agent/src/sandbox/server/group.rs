use std::{collections::BTreeSet, io, time::Instant};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{leaf::Leaf, survey::Survey};
use crate::{
    cgroups,
    sandbox::{
        environment::Patience,
        mark::Mark,
        processes::{self, Process},
        protocol::{ExecKey, Reached, Stdio, stops},
    },
};

/// How often it is looked for members that were not there before.
const ROUNDS: u32 = 32;

/// The processes of one command: the process group that its process leads, and with a terminal all of the session that it leads too,
/// since a shell in it gives each of its jobs a group of its own. Of one that is contained, all that it has started.
///
/// Its number belongs to it only as long as the leader has not been reaped or a member lives: after that the system may give it to a
/// stranger. So a group that was seen empty is gone for ever. The same holds for a session.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: ExecKey,
    id: Pid,
    scope: Scope,
    /// It is a worker, which ends by itself with the agent.
    pub(super) is_worker: bool,
    /// Since when its leader is stopped; only of a worker.
    pub(super) stopped_since: Option<Instant>,
    stage: Stage,
    /// It was told to stop before its leader was reaped.
    pub(super) stopped: bool,
    /// Whatever is found of it is killed.
    pub(super) is_killed: bool,
    /// Of one with a mark, those members outside of the process group that were found when it was looked last: they belong to it also
    /// without a mark.
    found: BTreeSet<Process>,
}

/// What belongs to a command besides its process group.
#[derive(Debug)]
pub(super) enum Scope {
    /// Nothing.
    Group,
    /// The session that it leads.
    Session,
    /// All that it has started, in a cgroup.
    Leaf(Leaf),
    /// All that it has started, by a mark.
    Mark(Mark),
}

impl Scope {
    /// That of a command that is not contained.
    pub(super) fn open(stdio: Stdio) -> Self {
        match stdio {
            Stdio::Pipes => Self::Group,
            Stdio::Terminal { .. } => Self::Session,
        }
    }
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
    pub(super) fn led_by(leader: Pid, key: ExecKey, scope: Scope, is_worker: bool) -> Self {
        Self {
            key,
            id: leader,
            scope,
            is_worker,
            stopped_since: None,
            stage: Stage::Led,
            stopped: false,
            is_killed: false,
            found: BTreeSet::new(),
        }
    }

    /// The number of the group, which is also the leader's process id.
    pub(super) fn id(&self) -> Pid {
        self.id
    }

    /// Whether a process is contained with it, wherever it has gone.
    pub(super) fn contains(&self, pid: Pid, patience: &Patience) -> bool {
        match &self.scope {
            Scope::Leaf(leaf) => cgroups::processes(leaf.path()).contains(&pid),
            Scope::Mark(mark) => mark.is_on(pid, patience),
            Scope::Group | Scope::Session => false,
        }
    }

    /// The leader has been reaped.
    pub(super) fn set_orphaned(&mut self) {
        self.stage = Stage::Orphaned;
    }

    pub(super) fn is_orphaned(&self) -> bool {
        self.stage == Stage::Orphaned
    }

    /// Looks whether no member is left. Those of one that was killed are killed again: they may have been forked meanwhile.
    pub(super) fn is_empty(&mut self, survey: &Survey, patience: &Patience) -> bool {
        if !self.is_orphaned() || kill(self.target(), None) != Err(Errno::ESRCH) {
            return false;
        }
        let is_empty = if let Scope::Leaf(leaf) = &self.scope {
            !cgroups::is_populated(leaf.path())
        } else {
            self.others(survey, patience).is_empty()
        };
        if !is_empty && self.is_killed {
            self.kill_others(patience);
        }
        is_empty
    }

    /// `kill` takes a group as its negated number.
    fn target(&self) -> Pid {
        Pid::from_raw(-self.id.as_raw())
    }

    /// Sends a signal to every member; none only asks whether there is one (POSIX, `kill`, "the null signal").
    ///
    /// To what a command has started outside of its group and session go the signals by which it is stopped alone.
    ///
    /// # Errors
    /// `EPERM` when the box may not signal any of the group.
    pub(super) fn signal(&mut self, signal: Option<Signal>) -> Result<Reached, Errno> {
        let patience = Patience::default();
        // With a mark they are found by what they descend from, too: so this comes before the first one dies.
        if signal.is_some_and(stops) {
            self.find_others(&patience);
        }
        if signal == Some(Signal::SIGKILL) {
            self.is_killed = true;
            self.stop_members(&patience);
        }
        let outcome = kill(self.target(), signal);
        if outcome.is_ok() && !self.is_orphaned() && signal.is_some_and(stops) {
            self.stopped = true;
        }
        let others = match signal {
            None if outcome.is_ok() => Reached::Members,
            Some(Signal::SIGKILL) => self.kill_others(&patience),
            signal => self.signal_others(signal, &patience),
        };
        match outcome {
            Err(Errno::ESRCH) => Ok(others),
            outcome => outcome.map(|()| Reached::Members),
        }
    }

    /// Kills the members outside of the process group; of one in a cgroup all.
    fn kill_others(&mut self, patience: &Patience) -> Reached {
        match &self.scope {
            Scope::Leaf(leaf) => {
                let is_populated = cgroups::is_populated(leaf.path());
                // It has no such file where it is gone, and so are they.
                let _killed: io::Result<()> = cgroups::kill(leaf.path());
                if is_populated { Reached::Members } else { Reached::Nobody }
            }
            Scope::Group | Scope::Session | Scope::Mark(_) => {
                self.signal_others(Some(Signal::SIGKILL), patience)
            }
        }
    }

    /// Takes note of those members that only a look at all processes finds.
    fn find_others(&mut self, patience: &Patience) {
        if let Scope::Mark(_) = self.scope {
            self.others(&Survey::default(), patience);
        }
    }

    /// Stops all members for now if only a look at all processes finds some: stopped processes fork
    /// no more. The group comes first, since the `wait` of a shell ends when a job is stopped.
    fn stop_members(&mut self, patience: &Patience) {
        if let Scope::Mark(_) = self.scope {
            let _ended = kill(self.target(), Signal::SIGSTOP);
            self.signal_others(Some(Signal::SIGSTOP), patience);
        }
    }

    /// Sends a signal to the members outside of the process group. Unlike a group they are signalled one by one and may fork
    /// meanwhile, so it looks again as long as it finds new ones, within reason.
    fn signal_others(&mut self, signal: Option<Signal>, patience: &Patience) -> Reached {
        let mut signalled = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut others = self.others(&Survey::default(), patience);
            others.retain(|process| signalled.insert(process.pid));
            if others.is_empty() {
                break;
            }
            if let Some(signal) = signal {
                for other in others.iter().filter(|other| self.is_for(signal, other)) {
                    processes::signal(other.pid, signal, |process| process.is(other));
                }
            }
        }
        if signalled.is_empty() { Reached::Nobody } else { Reached::Members }
    }

    /// Whether a signal is for a member outside of the process group.
    fn is_for(&self, signal: Signal, other: &Process) -> bool {
        match self.scope {
            Scope::Group | Scope::Session => true,
            Scope::Leaf(_) | Scope::Mark(_) => {
                let ends = stops(signal) || matches!(signal, Signal::SIGCONT | Signal::SIGSTOP);
                ends || other.session == self.id
            }
        }
    }

    /// The living members outside of the process group.
    fn others(&mut self, survey: &Survey, patience: &Patience) -> Vec<Process> {
        let id = self.id;
        let mut others = match &self.scope {
            Scope::Group => Vec::new(),
            Scope::Session => survey.families(|process| process.session == id),
            Scope::Leaf(leaf) => {
                let members = cgroups::processes(leaf.path());
                members.into_iter().filter_map(processes::process).collect()
            }
            Scope::Mark(mark) => survey.families(|process| {
                process.group == id
                    || process.session == id
                    || self.found.iter().any(|found| found.is(process))
                    || mark.is_on(process.pid, patience)
            }),
        };
        if let Scope::Session = self.scope {
            others.retain(|process| process.session == id);
        }
        others.retain(|process| process.group != id);
        if let Scope::Mark(_) = self.scope {
            self.found = others.iter().copied().collect();
        }
        others
    }
}
