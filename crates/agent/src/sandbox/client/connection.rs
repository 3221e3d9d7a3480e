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
    sandbox::{
        channel,
        protocol::{
            Containment, Decoder, ExecKey, REPLY_LEN, Reply, Report, Request, StartRequest, Stdio,
            encode,
        },
    },
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
    containment: Containment,
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
        let Launched { pid, process, socket, containment, reports } = launched;
        let connection = Arc::new(Self {
            pid,
            process,
            has_walls,
            containment,
            link: Arc::new(Link::open(socket)?),
            commands: Mutex::new(Some(HashMap::new())),
            buried: Condvar::new(),
            ends: AtomicBool::new(false),
        });
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
        let bytes = match encode(&Request::Start(Box::new(request.clone()))) {
            Ok(bytes) => bytes,
            Err(error) => return no_box(io::Error::other(error)),
        };
        let group = Arc::new(Group::new(request.key, Arc::clone(&self.link)));
        let has_terminal = matches!(request.stdio, Stdio::Terminal { .. });
        match &mut *self.commands() {
            Some(commands) => {
                let group = Arc::clone(&group);
                let command = Command { group, has_terminal, on_exit: Some(on_exit) };
                commands.insert(request.key, command);
            }
            None => return Err(Refused { pipes, on_exit }),
        }
        pipes.push(their_reply);
        if let Err(mut pipes) = self.link.send(bytes, pipes) {
            pipes.pop();
            let command = self.forget(request.key);
            return match command.and_then(|command| command.on_exit) {
                Some(on_exit) => Err(Refused { pipes, on_exit }),
                // It was buried meanwhile.
                None => Ok(Err(NotStarted::OutcomeUnknown)),
            };
        }
        let started = self.hear_start(&reply, &group);
        if started.is_err() {
            self.forget(request.key);
        }
        Ok(started.map(|terminal| Started { group, terminal }))
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
            Report::Gone { key } => {
                if let Some(command) = self.forget(key) {
                    command.group.set_gone();
                }
            }
            Report::Signalled { number, outcome } => self.link.answer(number, outcome),
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
        kill_left(&groups, &self.containment);
    }

    fn wait_until_dead(&self) {
        let (Some(process), Ok(limit)) = (&self.process, Timespec::try_from(END_TIMEOUT)) else {
            return;
        };
        while poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)) == Err(Errno::INTR) {}
    }

    fn commands(&self) -> MutexGuard<'_, Option<HashMap<ExecKey, Command>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
