use std::{
    ffi::OsString,
    fs::File,
    io::{self, PipeReader, Read, Seek, Write},
    net::Ipv4Addr,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{Child, Command},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use nix::{errno::Errno, libc};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{MemfdFlags, memfd_create},
    process::{Pid, PidfdFlags, pidfd_open},
};
use sandpipe_policy::{
    Program, RUNNING_PROGRAM,
    document::Network,
    effective::Effective,
    files::Roots,
    network::{Forward, HostRule, forwards},
    walls::{self as plans, PROXY_PORT},
};
use tokio::sync::oneshot;

use super::{
    ToolSettings,
    held_place::{HeldPlace, HeldPlaces},
    mount_helper::{MountHelper, can_mount_late},
    mount_watch::{MountWatch, foreign_namespace},
    relay::{self, Entrance},
    same_places, stores,
};

/// The walls around a box: how they are built each time that one starts.
#[derive(Debug)]
pub(crate) struct Walls {
    pub(super) policy: Arc<Effective>,
    /// The agent's policy, where this one was named by a create: what its paths lead to may change later.
    pub(super) within: Option<Arc<Effective>>,
    pub(super) roots: Roots,
    pub(super) bubblewrap: Program,
    /// The program that becomes the box, where it is not the one that runs.
    pub(super) program: Option<Program>,
    pub(super) inside: plans::Box,
    /// Settings in the workspace that commands can make, where the policy protects those that are there.
    pub(super) tool_settings: Option<Arc<ToolSettings>>,
}

/// What is started to build them, and what belongs to it.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) program: Program,
    pub(crate) args: Vec<OsString>,
    inherited: Vec<OwnedFd>,
    /// What is mounted on. Others may mount on it, too.
    held_places: HeldPlaces,
    /// Mounts that are to stay.
    check: plans::MountCheck,
    /// Hosts that may be reached.
    hosts: Option<Vec<HostRule>>,
    /// What bubblewrap says.
    messages: Option<PipeReader>,
}

/// How often the walls are planned anew where what was missing is there by then.
const PLANS: u32 = 5;
/// The most of a message that is read.
const MAX_MESSAGE: usize = 4096;
/// A thread that waits for a box calls nothing deep.
const STACK: usize = 128 * 1024;

impl Walls {
    /// Plans them as the file system is now.
    ///
    /// # Errors
    /// A rule can't be held, or the system refuses a descriptor.
    pub(crate) fn build(&self) -> io::Result<Built> {
        self.make_stores();
        let (mut plan, held_places) = self.plan_and_hold()?;
        if can_mount_late() {
            plan.leave_late_mounts();
        }
        if let Some(settings) = &self.tool_settings {
            settings.begin(|path| plan.check.guarded().any(|guarded| guarded.path == path));
        }
        let inherited = plan.inherited.iter().map(|content| self.open(content));
        let inherited: Vec<OwnedFd> = inherited.collect::<io::Result<_>>()?;
        let number = |index: usize| inherited.get(index).map_or(-1, AsRawFd::as_raw_fd);
        Ok(Built {
            program: self.bubblewrap.clone(),
            args: plan.args(number),
            inherited,
            held_places: Arc::new(Mutex::new(held_places)),
            check: plan.check,
            hosts: match &self.policy.network {
                Network::Allow(hosts) => Some(hosts.clone()),
                Network::None | Network::Host => None,
            },
            messages: None,
        })
    }

    /// Opens what bubblewrap, or the box, is to read from a descriptor.
    fn open(&self, content: &plans::Content) -> io::Result<OwnedFd> {
        match content {
            plans::Content::Seccomp(content) | plans::Content::Copy(content) => in_memory(content),
            plans::Content::Places(places) => in_memory(&same_places::record(places)?),
            plans::Content::Program => match &self.program {
                Some(program) => Ok(program.file().try_clone()?.into()),
                // Its file may have been replaced since, or removed (proc(5)).
                None => Ok(File::open(RUNNING_PROGRAM)?.into()),
            },
        }
    }

    /// Makes the workspace's own stores of packages, if it can.
    pub(super) fn make_stores(&self) {
        let made = self.roots.stores.as_deref().map_or(Ok(()), stores::make);
        if let Err(error) = made {
            tracing::info!(%error, "the workspace has no stores of packages of its own");
        }
    }

    /// Settings in the workspace that commands can make.
    pub(crate) fn tool_settings(&self) -> Option<Arc<ToolSettings>> {
        self.tool_settings.clone()
    }

    /// Plans them, and makes what has to be there to be mounted on.
    fn plan_and_hold(&self) -> io::Result<(plans::Plan, Vec<HeldPlace>)> {
        for _ in 0..PLANS {
            let plan = self.plan().map_err(io::Error::other)?;
            let held = plan.placeholders.iter().map(HeldPlace::hold);
            let held = held.collect::<io::Result<Vec<_>>>()?;
            if held.iter().all(Option::is_some) {
                return Ok((plan, held.into_iter().flatten().collect()));
            }
            // Somebody has made what was missing.
        }
        Err(io::Error::other("what the policy names is made or removed all the time"))
    }
}

fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("sandpipe", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

/// Starts a command from a thread that stays until it has ended: with the thread that has started it the kernel would end it (prctl(2),
/// `PR_SET_PDEATHSIG`). What was only there to be mounted on is removed then. Where there are no walls it is just started.
///
/// # Errors
/// It can't be started.
pub(crate) fn start(mut command: Command, built: Option<&mut Built>) -> io::Result<Running> {
    let Some(built) = built else {
        return Ok(Running { child: command.spawn()?, ended: None, walls_gone: None });
    };
    let held_places = Arc::clone(&built.held_places);
    let (started, starts) = mpsc::channel();
    let (end, ended) = oneshot::channel();
    let (gone, walls_gone) = mpsc::channel::<()>();
    let wait = move || {
        let spawned = command.spawn();
        // It has the box's end of the socket.
        drop(command);
        let pid = spawned.as_ref().ok().and_then(|child| Pid::from_raw(child.id().cast_signed()));
        let process = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        if started.send(spawned).is_err() {
            return;
        }
        match process {
            Some(Ok(process)) => {
                while poll(&mut [PollFd::new(&process, PollFlags::IN)], None).is_err() {}
            }
            // Before Linux 5.3 nobody tells it of the end.
            Some(Err(_)) => loop {
                thread::park();
            },
            None => {}
        }
        held_places.lock().unwrap_or_else(PoisonError::into_inner).clear();
        drop((end, gone));
    };
    thread::Builder::new().name("walls".into()).stack_size(STACK).spawn(wait)?;
    let child = starts.recv().map_err(io::Error::other)??;
    Ok(Running { child, ended: Some(ended), walls_gone: Some(WallsGone(Mutex::new(walls_gone))) })
}

/// What was started, and whether it is there.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    ended: Option<oneshot::Receiver<()>>,
    pub(crate) walls_gone: Option<WallsGone>,
}

/// Tells when what walls were built with is removed, after the end of the box.
#[derive(Debug)]
pub(crate) struct WallsGone(Mutex<mpsc::Receiver<()>>);

impl WallsGone {
    /// Waits for that, for so long at most.
    pub(crate) fn wait(&self, limit: Duration) {
        let gone = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is sent: it is closed then.
        let _closed = gone.recv_timeout(limit);
    }
}

impl Built {
    /// Lets a command be started that builds the walls.
    ///
    /// # Errors
    /// The system refuses a descriptor.
    pub(crate) fn prepare(&mut self, command: &mut Command) -> io::Result<()> {
        let (messages, theirs) = io::pipe()?;
        self.messages = Some(messages);
        command.stderr(theirs);
        let inherited = self.inherited.iter().map(AsRawFd::as_raw_fd);
        let inherited: Vec<RawFd> = inherited.chain([self.program.descriptor()]).collect();
        // SAFETY: fcntl(2) is async-signal-safe, and no memory is allocated.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(move || {
                for descriptor in &inherited {
                    Errno::result(libc::fcntl(*descriptor, libc::F_SETFD, 0))?;
                }
                Ok(())
            });
        }
        Ok(())
    }

    /// Begins to relay, when the box is ready, which has that process. It needs a runtime.
    ///
    /// # Errors
    /// There is nothing to listen with in the sandbox.
    pub(crate) fn begin(
        &mut self,
        helper: &MountHelper,
        pid: i32,
        running: &mut Running,
    ) -> io::Result<()> {
        let (Some(hosts), Some(ended)) = (self.hosts.take(), running.ended.take()) else {
            return Ok(());
        };
        let namespace = foreign_namespace(pid, "net")?;
        let listen = |address| helper.listen(namespace.as_fd(), address);
        let listener = listen((Ipv4Addr::LOCALHOST, PROXY_PORT).into())?;
        let mut entrances = vec![Entrance { listener, destination: None }];
        for Forward { listen: address, destination } in forwards(&hosts) {
            match listen(address) {
                Ok(listener) => {
                    entrances.push(Entrance { listener, destination: Some(destination) });
                }
                // The kernel may have no IPv6.
                Err(error) => {
                    tracing::info!(%error, "commands reach {destination} by the proxy alone: {address} can't be listened at in the sandbox");
                }
            }
        }
        relay::begin(entrances, hosts, ended)
    }

    /// Has the mounts of the box, of that process, stay as they are to be from now on. `builder` has built the walls around it.
    ///
    /// # Errors
    /// They are not, or can't be looked at.
    pub(crate) fn watch(
        &mut self,
        helper: MountHelper,
        pid: i32,
        process: Option<BorrowedFd<'_>>,
        builder: Option<OwnedFd>,
    ) -> io::Result<Arc<MountWatch>> {
        let check = std::mem::take(&mut self.check);
        let held_places = Arc::clone(&self.held_places);
        MountWatch::begin(check, held_places, helper, pid, process, builder)
    }

    /// What bubblewrap has said of why it ended, or the box.
    pub(crate) fn message(&self) -> String {
        let Some(mut messages) = self.messages.as_ref() else {
            return String::new();
        };
        let mut message = vec![0; MAX_MESSAGE];
        // Somebody may still have the other end.
        let is_nonblocking = rustix::io::ioctl_fionbio(messages, true).is_ok();
        let count = if is_nonblocking { messages.read(&mut message).unwrap_or(0) } else { 0 };
        message.truncate(count);
        String::from_utf8_lossy(&message).trim().to_owned()
    }
}
