use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt, io, mem,
    os::fd::OwnedFd,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::unistd::Pid;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair},
    process::pidfd_send_signal,
};

use super::{
    children::{LeftGroup, is_gone_within, kill_left},
    group::Group,
    launch::Launched,
    link::Link,
    started::{NotStarted, OnExit, Started},
};
use crate::{
    blocking,
    cgroups::{Leaf, Leaves},
    sandbox::{
        channel,
        protocol::{
            Decoder, ExecKey, Failure, REPLY_LEN, Reply, Report, Request, StartRequest, Stdio,
            Step, encode,
        },
    },
    walls::{MountWatch, WallsGone},
};

/// How long a box may take to end when it is told to.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// A box that runs, or ran.
#[derive(Debug)]
pub(super) struct Connection {
    pid: Pid,
    /// Stands for the box itself, where the system has such descriptors.
    process: Option<OwnedFd>,
    has_walls: bool,
    walls_gone: Option<WallsGone>,
    mounts: Option<Arc<MountWatch>>,
    /// What the marks of its commands begin with.
    marks: String,
    /// The cgroups of its commands, where there can be some.
    leaves: Mutex<Option<Leaves>>,
    link: Arc<Link>,
    /// The commands that the box was asked for, until nobody is left of them; none when it is dead and nothing of it is left.
    commands: Mutex<Option<HashMap<ExecKey, Command>>>,
    buried: Condvar,
    /// It was told to end.
    ends: AtomicBool,
}

/// A command that the box was asked for.
struct Command {
    group: Arc<Group>,
    has_terminal: bool,
    leaf: Option<Leaf>,
    /// None where there is no process that could end, or it has ended.
    on_exit: Option<OnExit>,
}

/// What the box was not asked for, since it is dead.
pub(super) struct Refused {
    pub(super) pipes: Vec<OwnedFd>,
    pub(super) on_exit: OnExit,
}

impl Connection {
    /// Begins to hear what a box says. It needs a runtime.
    pub(super) fn open(launched: Launched, has_walls: bool) -> io::Result<Arc<Self>> {
        let Launched { pid, process, socket, marks, walls_gone, mounts, reports } = launched;
        let leaves = Leaves::make(has_walls)
            .inspect_err(|error| tracing::debug!(%error, "commands have no cgroups of their own"))
            .ok();
        let base = leaves.as_ref().map(|leaves| leaves.base().to_owned());
        let connection = Arc::new(Self {
            pid,
            process,
            has_walls,
            walls_gone,
            mounts,
            marks,
            leaves: Mutex::new(leaves),
            link: Arc::new(Link::open(socket)?),
            commands: Mutex::new(Some(HashMap::new())),
            buried: Condvar::new(),
            ends: AtomicBool::new(false),
        });
        // Where the agent is killed; behind walls they are out of its reach.
        if let Some(base) = base.filter(|_| !has_walls) {
            let request = encode(&Request::RemoveAtEnd(base)).map_err(io::Error::other)?;
            let _dead = connection.link.send(request, Vec::new());
        }
        let link = Arc::clone(&connection.link);
        tokio::spawn(async move { link.run().await });
        tokio::spawn(Arc::clone(&connection).hear(reports));
        Ok(connection)
    }

    /// Starts a process.
    ///
    /// # Errors
    /// The box is dead, and was not asked.
    pub(super) fn start(
        self: &Arc<Self>,
        request: &StartRequest,
        mut pipes: Vec<OwnedFd>,
        on_exit: OnExit,
    ) -> Result<Result<Started, NotStarted>, Refused> {
        let no_box = |error: io::Error| Ok(Err(NotStarted::NoBox(error)));
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (reply, their_reply) = match socketpair(AddressFamily::UNIX, kind, flags, None) {
            Ok(pair) => pair,
            Err(error) => return no_box(error.into()),
        };
        let (leaf, directory) = match self.leaf_for(request) {
            Ok(leaf) => leaf.unzip(),
            Err(error) => return Ok(Err(NotStarted::Failed(not_set_up(&error)))),
        };
        let cgroup = request.cgroup || leaf.is_some();
        let told = Request::Start(Box::new(StartRequest { cgroup, ..request.clone() }));
        let bytes = match encode(&told) {
            Ok(bytes) => bytes,
            Err(error) => return no_box(io::Error::other(error)),
        };
        let group = Arc::new(Group::new(request.key, Arc::clone(&self.link)));
        let has_terminal = matches!(request.stdio, Stdio::Terminal { .. });
        {
            // Held while it is sent: the box is not buried in between, and what it says of the command is taken after that.
            let mut commands = self.commands();
            let Some(commands) = &mut *commands else {
                return Err(Refused { pipes, on_exit });
            };
            let own = pipes.len();
            pipes.extend(directory.into_iter().chain([their_reply]));
            if let Err(mut pipes) = self.link.send(bytes, pipes) {
                pipes.truncate(own);
                return Err(Refused { pipes, on_exit });
            }
            let group = Arc::clone(&group);
            let command = Command { group, has_terminal, leaf, on_exit: Some(on_exit) };
            commands.insert(request.key, command);
        }
        let started = self.hear_start(&reply, &group);
        if started.is_err() {
            // The box still says when it is gone.
            let mut commands = self.commands();
            let command = commands.as_mut().and_then(|commands| commands.get_mut(&request.key));
            drop(command.and_then(|command| command.on_exit.take()));
        }
        Ok(started.map(|terminal| Started { group, terminal }))
    }

    /// A cgroup for a command that is to have one and has none, and its directory.
    fn leaf_for(&self, request: &StartRequest) -> io::Result<Option<(Leaf, OwnedFd)>> {
        match &mut *self.leaves() {
            Some(leaves) if request.contain && !request.cgroup => {
                let leaf = leaves.take()?;
                let directory = leaf.open()?;
                Ok(Some((leaf, directory)))
            }
            _ => Ok(None),
        }
    }

    /// Waits until a process executes its program, or can't.
    fn hear_start(&self, reply: &OwnedFd, group: &Group) -> Result<Option<OwnedFd>, NotStarted> {
        let mut descriptors = VecDeque::new();
        let mut buffer = [0; REPLY_LEN];
        let mut failure = None;
        wait_for_end(reply).map_err(NotStarted::NoBox)?;
        loop {
            let received =
                channel::receive(reply, &mut buffer, &mut descriptors, RecvFlags::empty());
            let count = received.map_err(NotStarted::NoBox)?;
            match buffer.get(..count).filter(|bytes| !bytes.is_empty()).map(Reply::decode) {
                Some(Some(Reply::Started(pid))) => group.set_id(Pid::from_raw(pid)),
                Some(Some(Reply::Failed(why))) => failure = Some(why),
                Some(None) => {}
                None => break,
            }
        }
        match failure {
            Some(failure) => Err(NotStarted::Failed(failure)),
            None if group.known_id().is_some() => Ok(descriptors.pop_front()),
            None => {
                self.wait_until_buried();
                Err(NotStarted::OutcomeUnknown)
            }
        }
    }

    /// Finds the groups of the commands that these processes belong to, each by its id and its start.
    pub(super) async fn groups_of(&self, processes: Vec<(i32, u64)>) -> Vec<Option<Arc<Group>>> {
        let keys = self.link.find(processes).await.unwrap_or_default();
        let commands = self.commands();
        let group = |key| Some(Arc::clone(&commands.as_ref()?.get(&key)?.group));
        keys.into_iter().map(|key: Option<ExecKey>| key.and_then(group)).collect()
    }

    /// Returns whether its mounts are those that the policy needs. Where they can't be, the box ends. It may block for a moment.
    pub(super) fn check_mounts(&self) -> bool {
        let holds = self.mounts.as_ref().is_none_or(|mounts| mounts.check());
        if !holds {
            self.link.close();
            self.kill();
        }
        holds
    }

    /// Whether the box is dead, and nothing of it is left.
    pub(super) fn is_buried(&self) -> bool {
        self.commands().is_none()
    }

    /// Whether nothing is left of whatever it was asked for.
    pub(super) fn is_idle(&self) -> bool {
        self.commands().as_ref().is_none_or(HashMap::is_empty)
    }

    /// Waits until nothing is left of a box that is dying.
    pub(super) fn wait_until_buried(&self) {
        let mut commands = self.commands();
        while commands.is_some() {
            commands = self.buried.wait(commands).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the box, and with it whatever it has.
    pub(super) fn end(&self) {
        self.ends.store(true, Ordering::Release);
        self.link.close();
        if !is_gone_within(self.pid, END_TIMEOUT) {
            // Something holds it up, as by SIGSTOP.
            self.kill();
            is_gone_within(self.pid, END_TIMEOUT);
            self.kill_left();
        }
        drop(self.leaves().take());
        if let Some(walls) = &self.walls_gone {
            walls.wait(END_TIMEOUT);
        }
    }

    /// Hears what the box says, up to its end.
    async fn hear(self: Arc<Self>, reports: Decoder) {
        let heard = self.link.hear(reports, |report| self.take(report)).await;
        self.link.close();
        if self.ends.load(Ordering::Acquire) {
            return self.set_buried();
        }
        let why = heard.err().map(|error| error.to_string());
        tracing::error!(
            why,
            "the process that runs the commands has ended: what it had is killed, and of what ran nobody knows how it would have ended"
        );
        let connection = Arc::clone(&self);
        if blocking::scan(move || connection.bury()).await.is_err() {
            self.bury();
        }
    }

    fn take(&self, report: &Report) {
        match *report {
            Report::Ready(_) => {}
            Report::Exited { key, code, stopped } => {
                let on_exit = self.commands().as_mut().and_then(|commands| {
                    let command = commands.get_mut(&key)?;
                    if stopped {
                        command.group.set_stopped();
                    }
                    command.on_exit.take()
                });
                if let Some(on_exit) = on_exit {
                    on_exit(code);
                }
            }
            Report::Gone { key, killed } => {
                if let Some(command) = self.forget(key) {
                    command.group.set_gone();
                    if let (Some(leaves), Some(leaf)) = (&mut *self.leaves(), command.leaf) {
                        leaves.give_back(leaf, killed);
                    }
                }
            }
            Report::Signalled { number, outcome } => self.link.signalled(number, outcome),
            Report::Found { number, ref keys } => self.link.found(number, keys.clone()),
        }
    }

    fn forget(&self, key: ExecKey) -> Option<Command> {
        self.commands().as_mut()?.remove(&key)
    }

    /// The box is dead: kills what it has left, and tells all who wait for something. It blocks.
    fn bury(&self) {
        self.kill();
        self.kill_left();
        self.set_buried();
    }

    /// Kills the box itself, also where its number is another's by now.
    fn kill(&self) {
        let signal = rustix::process::Signal::KILL;
        let _gone = self.process.as_ref().map(|process| pidfd_send_signal(process, signal));
    }

    /// Tells all who wait for something that there will be nothing.
    fn set_buried(&self) {
        // Nobody is in them any more.
        drop(self.leaves().take());
        let commands = mem::take(&mut *self.commands());
        for command in commands.iter().flat_map(HashMap::values) {
            command.group.set_gone();
        }
        self.link.answer_none();
        self.buried.notify_all();
    }

    /// Kills what a box has left. What is behind walls ends with it, and is gone when the box is.
    fn kill_left(&self) {
        if self.has_walls {
            return self.wait_until_dead();
        }
        let left_groups = |commands: &HashMap<ExecKey, Command>| -> HashSet<LeftGroup> {
            let commands = commands.values();
            commands
                .filter_map(|Command { group, has_terminal, .. }| {
                    Some(LeftGroup { id: group.known_id()?, is_session: *has_terminal })
                })
                .collect()
        };
        let groups = self.commands().as_ref().map(left_groups).unwrap_or_default();
        let base = self.leaves().as_ref().map(|leaves| leaves.base().to_owned());
        kill_left(&groups, &self.marks, base.as_deref());
    }

    fn wait_until_dead(&self) {
        let (Some(process), Ok(limit)) = (&self.process, Timespec::try_from(END_TIMEOUT)) else {
            return;
        };
        while poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)) == Err(Errno::INTR) {}
    }

    fn leaves(&self) -> MutexGuard<'_, Option<Leaves>> {
        self.leaves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commands(&self) -> MutexGuard<'_, Option<HashMap<ExecKey, Command>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_set_up(error: &io::Error) -> Failure {
    let errno = error.raw_os_error().unwrap_or(Errno::PROTO.raw_os_error());
    Failure { step: Step::SetUp, errno }
}

/// Waits until the other end is closed: what comes before is read then, so that this thread wakes up once.
fn wait_for_end(reply: &OwnedFd) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(reply, PollFlags::empty())], None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.group.known_id())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::sandbox::{
        client::BoxClient,
        protocol::{FileLimits, Program},
    };

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_dead_box_refuses_commands_also_while_it_is_buried() {
        let request = StartRequest {
            key: ExecKey(1),
            program: Program::Command { args: vec![c"true".into()], env: Vec::new() },
            cwd: c"/".into(),
            stdio: Stdio::Pipes,
            credentials: None,
            file_limits: FileLimits { soft: 64, hard: 64 },
            contain: false,
            cgroup: false,
        };
        let client = BoxClient::for_test();
        for _ in 0..20 {
            let connection = client.connection().unwrap();
            // It is buried as soon as that is heard.
            connection.link.close();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while !connection.is_buried() {
                            let asked = connection.start(&request, Vec::new(), Box::new(drop));
                            assert!(asked.is_err(), "it may have begun");
                        }
                    });
                }
            });
        }
    }
}
