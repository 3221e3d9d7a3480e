use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use nix::{errno::Errno, unistd::Pid};

use rustix::process::{PidfdFlags, pidfd_open};
use sandpipe_policy::{Program, RUNNING_PROGRAM};

use super::{children, detach::detach};
use crate::{
    sandbox::{
        protocol::{Decoder, Report},
        server::ROLE,
    },
    walls::{self, MountHelper, MountWatch, Walls, WallsGone},
};

/// How long a box may take until it takes requests.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How a box is started: this program in another role, by itself or by a program that builds walls around it.
#[derive(Clone, Debug)]
pub(crate) struct BoxCommand {
    /// By a path that leads to what was opened, whatever is in its place by now.
    pub(crate) program: PathBuf,
    /// With the role, and what it is told.
    pub(crate) args: Vec<OsString>,
    /// What is around it: a PID namespace of which it is process 1, so that whatever is in it ends with it. With none its commands
    /// have the agent's rights.
    pub(crate) walls: Option<Arc<Walls>>,
}

impl BoxCommand {
    /// By the program that runs, or by another.
    pub(crate) fn new(
        program: Option<&Program>,
        told: Vec<OsString>,
        walls: Option<Arc<Walls>>,
    ) -> Self {
        let args = [ROLE.into()].into_iter().chain(told).collect();
        let program = program.map_or_else(|| RUNNING_PROGRAM.into(), Program::executable);
        Self { program, args, walls }
    }
}

/// A box that takes requests.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) pid: Pid,
    /// Stands for the box itself, which may be in what builds walls around it; none where the system has no such descriptors.
    pub(super) process: Option<OwnedFd>,
    pub(super) socket: UnixStream,
    /// What the marks of its commands begin with.
    pub(super) marks: String,
    /// Where there are walls around it.
    pub(super) walls_gone: Option<WallsGone>,
    pub(super) mounts: Option<Arc<MountWatch>>,
    /// What it said after it was ready.
    pub(super) reports: Decoder,
}

/// Starts a box, and waits until it takes requests.
pub(super) fn launch(how: &BoxCommand) -> io::Result<Launched> {
    let (socket, theirs) = UnixStream::pair()?;
    // It is executed while the walls are built.
    let helper = how.walls.as_ref().map(|_| MountHelper::start(&how.program)).transpose()?;
    let mut built = how.walls.as_ref().map(|walls| walls.build()).transpose()?;
    let mut command = if let Some(built) = &built {
        let mut command = Command::new(built.program.executable());
        command.arg0("bwrap").args(&built.args);
        command
    } else {
        let mut command = Command::new(&how.program);
        command.arg0("sandpipe-agent").args(&how.args);
        command
    };
    command
        // A token in it would be there for others to read.
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        // Whoever reads the agent's output is not to wait for the box.
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    detach(&mut command);
    if let Some(built) = &mut built {
        built.prepare(&mut command)?;
    }
    // Nobody else reaps it before it runs.
    let not_reaped = children::hold_reaping();
    let mut running = walls::start(command, built.as_mut())?;
    let begun = wait_until_ready(socket).and_then(|ready| {
        let pid = i32::try_from(running.child.id()).map_err(io::Error::other)?;
        let inner = if how.walls.is_some() { only_child(pid) } else { Some(pid) };
        let inner = inner.unwrap_or(pid);
        if let (Some(built), Some(helper)) = (&mut built, &helper) {
            built.begin(helper, inner, &mut running)?;
        }
        let open = |pid| {
            let pid = rustix::process::Pid::from_raw(pid)?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        };
        let process = open(inner);
        let mounts = match (&mut built, helper) {
            (Some(built), Some(helper)) => {
                let process = process.as_ref().map(AsFd::as_fd);
                Some(built.watch(helper, inner, process, open(pid))?)
            }
            _ => None,
        };
        Ok((ready, Pid::from_raw(pid), process, mounts))
    });
    let mut child = running.child;
    match begun {
        Ok(((socket, marks, reports), pid, process, mounts)) => {
            let walls_gone = running.walls_gone;
            Ok(Launched { pid, process, socket, marks, walls_gone, mounts, reports })
        }
        Err(error) => {
            let _killed = child.kill();
            let status = child.wait();
            drop(not_reaped);
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            match built.map(|built| built.message()).filter(|message| !message.is_empty()) {
                Some(message) => Err(io::Error::other(message)),
                None => Err(io::Error::other(format!(
                    "it does not say that it is ready: {error} ({status})"
                ))),
            }
        }
    }
}

/// The process that another one has as its only child (proc(5), /proc/pid/task/tid/children).
fn only_child(pid: i32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.trim().parse().ok()
}

fn wait_until_ready(mut socket: UnixStream) -> io::Result<(UnixStream, String, Decoder)> {
    socket.set_read_timeout(Some(START_TIMEOUT))?;
    let mut reports = Decoder::default();
    let mut buffer = [0; 512];
    loop {
        match reports.next().map_err(io::Error::other)? {
            Some(Report::Ready(marks)) => return Ok((socket, marks, reports)),
            Some(report) => return Err(io::Error::other(format!("it says {report:?}"))),
            None => {}
        }
        let count = match socket.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            count => count?,
        };
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        reports.feed(buffer.get(..count).unwrap_or_default());
    }
}
