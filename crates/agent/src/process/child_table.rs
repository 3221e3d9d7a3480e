use std::{
    collections::HashMap,
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use nix::{libc, unistd::Pid};
use tokio::sync::oneshot;

use super::{
    exit::ExitSender,
    group::{Group, Scope},
    guardian::{GroupId, Guardian, Message, Registration, report},
    wait::{next_ended, reap},
    waker::Waker,
};

/// How often the groups that have lost their leader are looked at: one should be seen empty before its
/// number goes to another. The end of a last member tells of that only where the agent is its parent.
///
/// While something is being started, also how often orphans are looked for in the groups that have their
/// leader: to ask for a group's members takes a walk over all threads and children of the agent.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The children that the agent has started and the groups that they lead, and what of that the guardian knows.
#[derive(Debug, Default)]
pub(super) struct ChildTable {
    leaders: HashMap<Pid, Leader>,
    /// Groups that outlived their leader.
    orphaned: Vec<TrackedGroup>,
    /// The number of the last group's id.
    last_group_id: u64,
    /// How many processes are being started.
    pub(super) starting: usize,
    /// When orphans were last looked for in all groups.
    searched: Option<Instant>,
    guardian: GuardianState,
}

/// A group, and how the guardian knows it.
#[derive(Debug)]
struct TrackedGroup {
    group: Arc<Group>,
    group_id: GroupId,
}

/// Who kills the groups when the agent is dead.
#[derive(Debug, Default)]
enum GuardianState {
    /// Nobody: this process is not an agent's own, or it ends.
    #[default]
    Off,
    On(Guardian),
    /// It died, and no other could be started yet.
    Dead,
}

#[derive(Debug)]
struct Leader {
    tracked: TrackedGroup,
    exited: ExitSender,
}

impl GuardianState {
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

impl ChildTable {
    /// From now on the guardian kills every group when the agent dies.
    pub(super) fn set_guardian(&mut self, guardian: Guardian) {
        self.guardian = GuardianState::On(guardian);
    }

    /// From now on nobody does.
    pub(super) fn take_guardian(&mut self) -> Option<Guardian> {
        match mem::take(&mut self.guardian) {
            GuardianState::On(guardian) => Some(guardian),
            GuardianState::Off | GuardianState::Dead => None,
        }
    }

    /// From now on only members of known groups are reaped. Returns what the new process is known by.
    pub(super) fn begin_start(&mut self, scope: Scope) -> (GroupId, Option<Registration>) {
        self.replace_dead_guardian();
        self.starting += 1;
        self.last_group_id += 1;
        let group_id = GroupId::new(self.last_group_id);
        let registration = match &self.guardian {
            GuardianState::On(guardian) => {
                Some(Registration { pipe: Arc::clone(guardian.pipe()), group_id, scope })
            }
            GuardianState::Off | GuardianState::Dead => None,
        };
        (group_id, registration)
    }

    pub(super) fn end_start<E>(
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
        if let GuardianState::On(guardian) = &self.guardian
            && registration.is_none_or(|known| !Arc::ptr_eq(&known.pipe, guardian.pipe()))
        {
            // It has taken the place of the one to which the process made itself known.
            let _dead = report(guardian.pipe(), Message::Led(group_id, pid, scope));
        }
        let group = Arc::new(Group::led_by(pid, scope));
        let (exited, exit) = ExitSender::new(waker);
        let tracked = TrackedGroup { group: Arc::clone(&group), group_id };
        self.leaders.insert(pid, Leader { tracked, exited });
        Ok((group, exit))
    }

    /// Reaps a child that has ended, left as it is up to now.
    fn reap(&mut self, pid: Pid) {
        let Some(leader) = self.leaders.remove(&pid) else {
            // An orphan, or the guardian.
            let status = reap(pid);
            if self.guardian.is(pid) {
                tracing::error!(?status, "the guardian has ended; another one takes its place");
                self.guardian = GuardianState::Dead;
            }
            return;
        };
        let TrackedGroup { group, group_id } = leader.tracked;
        let code = group.reap_leader(|| reap(pid));
        if group.is_gone() {
            self.guardian.forget(group_id);
        } else {
            self.orphaned.push(TrackedGroup { group, group_id });
        }
        if let Some(code) = code {
            leader.exited.send(code);
        }
    }

    /// Children that have ended and may be reaped; none only where there are none. While something is
    /// being started, orphans in a group that has its leader are looked for only on demand.
    fn ended(&self, search: bool) -> Vec<Pid> {
        if self.starting == 0 {
            return next_ended(libc::P_ALL, None).into_iter().collect();
        }
        let guardian = match &self.guardian {
            GuardianState::On(guardian) => next_ended(libc::P_PID, Some(guardian.pid())),
            GuardianState::Off | GuardianState::Dead => None,
        };
        let led = self.leaders.keys().filter_map(|leader| {
            let ended = next_ended(libc::P_PID, Some(*leader));
            ended.or_else(|| search.then(|| next_ended(libc::P_PGID, Some(*leader))).flatten())
        });
        // One that has the number of the group is a new process, not yet in the table.
        let orphaned = self.orphaned.iter().filter_map(|tracked| {
            let group = tracked.group.id();
            next_ended(libc::P_PGID, Some(group)).filter(|ended| *ended != group)
        });
        guardian.into_iter().chain(led).chain(orphaned).collect()
    }

    /// Reaps all that have ended and may be reaped.
    pub(super) fn reap_ended(&mut self) {
        let search = self.searched.is_none_or(|searched| searched.elapsed() >= CHECK_INTERVAL);
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

    /// Forgets the groups without a leader of which no process is left; returns whether others remain.
    pub(super) fn forget_gone(&mut self) -> bool {
        self.forget_orphaned(Group::is_gone);
        !self.orphaned.is_empty()
    }

    /// Forgets the orphaned groups of which that is true.
    fn forget_orphaned(&mut self, is_gone: impl Fn(&Group) -> bool) {
        let guardian = &self.guardian;
        self.orphaned.retain(|tracked| {
            let gone = is_gone(&tracked.group);
            if gone {
                guardian.forget(tracked.group_id);
            }
            !gone
        });
    }

    /// Starts a guardian in the place of one that died, and tells it of all groups.
    pub(super) fn replace_dead_guardian(&mut self) {
        if !matches!(self.guardian, GuardianState::Dead) {
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
        let led = self.leaders.values().map(|leader| &leader.tracked);
        for TrackedGroup { group, group_id } in led.chain(&self.orphaned) {
            let message = Message::Led(*group_id, group.id(), group.scope());
            let _dead = report(guardian.pipe(), message);
        }
        self.guardian = GuardianState::On(guardian);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::CommandExt,
        process::{Child, Command},
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
        let mut table = ChildTable { starting: 1, ..ChildTable::default() };
        let (mut leader, pid) = ended(0);
        let tracked = || TrackedGroup {
            group: Arc::new(Group::led_by(pid, Scope::Group)),
            group_id: GroupId::new(1),
        };
        // As it is before it is known.
        assert_eq!(table.ended(true), []);
        // It has the number of an old group.
        table.orphaned.push(tracked());
        assert_eq!(table.ended(true), []);
        table.orphaned.clear();
        let (exited, _exit) = ExitSender::new(waker());
        table.leaders.insert(pid, Leader { tracked: tracked(), exited });
        assert_eq!(table.ended(false), [pid]);

        let (mut member, orphan) = ended(pid.as_raw());
        leader.wait().unwrap();
        // Not each time: it takes long.
        assert_eq!(table.ended(false), []);
        assert_eq!(table.ended(true), [orphan]);
        table.leaders.clear();
        assert_eq!(table.ended(true), []);
        table.orphaned.push(tracked());
        assert_eq!(table.ended(false), [orphan]);
        table.starting = 0;
        // Of all children, also those of other tests.
        assert_eq!(table.ended(false).len(), 1);
        member.wait().unwrap();
    }
}
