use std::{
    collections::{BTreeMap, HashMap},
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{errno::Errno, sys::signal::Signal, unistd::Pid};

use super::{
    group::Group,
    outbox::Outbox,
    start::start,
    survey::{Survey, has_orphans},
    wait::{Ended, reap_next, stop_changed},
};
use crate::{
    cgroups,
    sandbox::{
        environment::Patience,
        processes,
        protocol::{ExecKey, Program, Reached, Report, StartRequest},
    },
};

/// How soon and how seldom the groups that have lost their leader are looked at: each should be seen empty before its number goes to
/// another. The end of a last member tells of that only where the box is its parent.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(500);
/// How long a worker may take to end when the agent is gone: it finishes what takes a few system calls.
const WORKER_GRACE: Duration = Duration::from_secs(1);
/// Longest time that a worker may be stopped, as by a command: then it is killed, and the agent has another one started.
const WORKER_STOP: Duration = Duration::from_secs(5);

/// How far above a process it is looked for the command that it belongs to.
const MAX_ANCESTORS: usize = 64;

/// All commands of which a process may be left.
#[derive(Debug)]
pub(super) struct Table {
    /// The beginning of the marks of its commands.
    marks: String,
    /// The cgroup that theirs are in, to be removed at the end.
    removed_at_end: Option<PathBuf>,
    groups: BTreeMap<ExecKey, Group>,
    /// Those that have their leader, by its process id.
    leaders: HashMap<Pid, ExecKey>,
    look: Option<Look>,
}

/// When groups without a leader are to be looked at.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    pause: Duration,
}

impl Table {
    /// An empty one.
    ///
    /// # Errors
    /// There is no randomness.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            marks: format!("{:016x}", random()?),
            removed_at_end: None,
            groups: BTreeMap::new(),
            leaders: HashMap::new(),
            look: None,
        })
    }

    /// What the marks of its commands begin with.
    pub(super) fn marks(&self) -> &str {
        &self.marks
    }

    /// Has a cgroup removed when nothing is left.
    pub(super) fn remove_at_end(&mut self, cgroup: PathBuf) {
        self.removed_at_end = Some(cgroup);
    }

    /// Starts a process, as the leader of a group of its own.
    pub(super) fn start(
        &mut self,
        request: &StartRequest,
        descriptors: Vec<OwnedFd>,
        outbox: &mut Outbox,
    ) -> io::Result<()> {
        let Some((pid, scope)) = start(request, descriptors, &self.marks) else {
            return outbox.push(&Report::Gone { key: request.key, killed: false });
        };
        // The number is new: an old group that had it can't have a member any more.
        self.forget(outbox, |group| group.is_orphaned() && group.id() == pid)?;
        self.leaders.insert(pid, request.key);
        let is_worker = request.program == Program::Worker;
        self.groups.insert(request.key, Group::led_by(pid, request.key, scope, is_worker));
        Ok(())
    }

    /// Sends signals to a command, one after the other; returns whom the first one reached, or the `errno` of one that was refused.
    pub(super) fn signal(
        &mut self,
        key: ExecKey,
        signals: &[i32],
        outbox: &mut Outbox,
    ) -> io::Result<Result<Reached, i32>> {
        let Some(group) = self.groups.get_mut(&key) else {
            return Ok(Ok(Reached::Nobody));
        };
        // Each of them, also after one that was refused.
        let outcomes: Vec<_> = signals.iter().map(|signal| group.signal(named(*signal)?)).collect();
        let refused = outcomes.iter().find_map(|outcome| outcome.err());
        let first = outcomes.first().copied().unwrap_or(Ok(Reached::Nobody));
        let outcome = refused.map_or(first, Err);
        if group.is_orphaned() {
            self.look_soon();
            if outcome == Ok(Reached::Nobody) {
                self.forget(outbox, |group| group.key == key)?;
            }
        }
        Ok(outcome.map_err(|errno| errno as i32))
    }

    /// Finds the command that a process belongs to: by its process group and session and those of its ancestors, or else by what contains
    /// it.
    pub(super) fn find(&self, pid: Pid, started: u64) -> Option<ExecKey> {
        let found = processes::process(pid).filter(|process| process.started == started)?;
        let mut next = Some(found);
        for _ in 0..MAX_ANCESTORS {
            let Some(process) = next else { break };
            let is_of = |group: &&Group| [process.group, process.session].contains(&group.id());
            if let Some(group) = self.groups.values().find(is_of) {
                return Some(group.key);
            }
            next = processes::process(process.parent);
        }
        let patience = Patience::default();
        self.groups.values().find(|group| group.contains(pid, &patience)).map(|group| group.key)
    }

    /// Reaps all that have ended. What is left of their groups is to be looked at then.
    pub(super) fn reap(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        for worker in
            self.groups.values_mut().filter(|group| group.is_worker && !group.is_orphaned())
        {
            if let Some(is_stopped) = stop_changed(worker.id()) {
                worker.stopped_since = is_stopped.then(Instant::now);
            }
        }
        while let Some(Ended { pid, code }) = reap_next() {
            let key = self.leaders.remove(&pid);
            if let Some(group) = key.and_then(|key| self.groups.get_mut(&key)) {
                group.set_orphaned();
                group.stopped_since = None;
                let (key, stopped) = (group.key, group.stopped);
                outbox.push(&Report::Exited { key, code, stopped })?;
            }
        }
        self.look_soon();
        Ok(())
    }

    /// When groups are to be looked at without being told.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let stopped = self.groups.values().filter_map(|group| group.stopped_since);
        let worker = stopped.map(|since| since + WORKER_STOP).min();
        self.look.map(|look| look.at).into_iter().chain(worker).min()
    }

    /// Looks at the groups if it is time.
    pub(super) fn look_if_due(&mut self, now: Instant, outbox: &mut Outbox) -> io::Result<()> {
        for group in self.groups.values_mut() {
            if group.stopped_since.take_if(|since| *since + WORKER_STOP <= now).is_some() {
                // Its end says what became of it.
                let _ended: Result<Reached, Errno> = group.signal(Some(Signal::SIGKILL));
            }
        }
        if self.look.is_some_and(|look| look.at <= now) { self.look(outbox) } else { Ok(()) }
    }

    /// Something is about to change.
    fn look_soon(&mut self) {
        self.look = Some(Look { at: Instant::now(), pause: FIRST_LOOK });
    }

    /// Forgets the groups without a leader of which no process is left. While some remain it is done again, after a while.
    fn look(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        let has_orphans = has_orphans(|pid| self.leaders.contains_key(&pid));
        let survey = if has_orphans { Survey::default() } else { Survey::without_orphans() };
        let patience = Patience::default();
        self.forget(outbox, |group| group.is_empty(&survey, &patience))?;
        let pause = self.look.map_or(FIRST_LOOK, |look| look.pause);
        self.look = self
            .groups
            .values()
            .any(Group::is_orphaned)
            .then(|| Look { at: Instant::now() + pause, pause: (pause * 2).min(LAST_LOOK) });
        Ok(())
    }

    /// Forgets the groups of which that is true: nobody is left of them.
    fn forget(
        &mut self,
        outbox: &mut Outbox,
        mut is_gone: impl FnMut(&mut Group) -> bool,
    ) -> io::Result<()> {
        let gone: Vec<_> = self.groups.extract_if(.., |_, group| is_gone(group)).collect();
        for (key, group) in gone {
            outbox.push(&Report::Gone { key, killed: group.is_killed })?;
        }
        Ok(())
    }

    /// Kills all that it has, and waits until nothing is left, or that moment has come. Workers have a moment to end by themselves: one
    /// that is killed in the middle of it could leave a temporary file.
    pub(super) fn kill_all(&mut self, deadline: Instant) {
        let grace = Instant::now() + WORKER_GRACE;
        // There is nobody to tell.
        let mut outbox = Outbox::default();
        let mut pause = FIRST_LOOK;
        loop {
            let is_grace = Instant::now() < grace;
            for group in self.groups.values_mut().filter(|group| !(is_grace && group.is_worker)) {
                let _refused: Result<Reached, Errno> = group.signal(Some(Signal::SIGKILL));
            }
            let _unheard = self.reap(&mut outbox).and_then(|()| self.look(&mut outbox));
            if self.groups.is_empty() || Instant::now() >= deadline {
                break;
            }
            sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(25));
        }
        if let Some(cgroup) = &self.removed_at_end {
            let _left = cgroups::remove(cgroup);
        }
    }
}

/// What no other box has.
fn random() -> io::Result<u64> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(u64::from_ne_bytes(random))
}

/// The signal of a number; none for 0.
fn named(number: i32) -> Result<Option<Signal>, Errno> {
    if number == 0 { Ok(None) } else { Signal::try_from(number).map(Some) }
}
