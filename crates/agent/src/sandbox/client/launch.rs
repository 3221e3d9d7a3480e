use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use nix::{
    errno::Errno,
    libc,
    unistd::{Pid, setsid},
};

use rustix::process::{PidfdFlags, pidfd_open};

use super::children;
use crate::{
    sandbox::{
        protocol::{Decoder, Report},
        server::ROLE,
    },
    walls::{self, Walls, WallsGone},
};

/// How long a box may take until it takes requests.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// How a box is started: this program in another role, by itself or by a program that builds walls around it.
#[derive(Clone, Debug)]
pub(crate) struct BoxCommand {
    pub(crate) program: OsString,
    /// With the role, and what it is told.
    pub(crate) args: Vec<OsString>,
    /// What is around it: a PID namespace of which it is process 1, so that whatever is in it ends with it. With none its commands
    /// have the agent's rights.
    pub(crate) walls: Option<Arc<Walls>>,
}

impl BoxCommand {
    /// By the program that runs, also where its file has been replaced or removed, or by another.
    pub(crate) fn new(
        program: Option<OsString>,
        told: Vec<OsString>,
        walls: Option<Arc<Walls>>,
    ) -> Self {
        let args = [ROLE.into()].into_iter().chain(told).collect();
        Self { program: program.unwrap_or_else(|| "/proc/self/exe".into()), args, walls }
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
    /// What it said after it was ready.
    pub(super) reports: Decoder,
}

/// Starts a box, and waits until it takes requests.
pub(super) fn launch(how: &BoxCommand) -> io::Result<Launched> {
    let (socket, theirs) = UnixStream::pair()?;
    let mut built = how.walls.as_ref().map(|walls| walls.build()).transpose()?;
    let mut command = if let Some(built) = &built {
        let mut command = Command::new(&built.program);
        command.args(&built.args);
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
    // SAFETY: only system calls that are async-signal-safe, and no memory is allocated.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            // What the agent itself was started with is not for it. Where the system does not know the call, the box closes it.
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC);
            // What a terminal or a shell sends to the agent's group is not for it.
            setsid()?;
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                // An ignored signal stays so over exec (POSIX, `exec`): there is no moment at
                // which it could be ended by one.
                libc::signal(signal, libc::SIG_IGN);
            }
            Ok(())
        });
    }
    if let (Some(walls), Some(built)) = (&how.walls, &mut built) {
        walls.prepare(built, &mut command)?;
    }
    // Nobody else reaps it before it runs.
    let not_reaped = children::hold_reaping();
    let mut running = walls::start(command, built.as_mut())?;
    let begun = wait_until_ready(socket).and_then(|ready| {
        if let Some(built) = &mut built {
            built.begin(&mut running)?;
        }
        Ok(ready)
    });
    let mut child = running.child;
    match begun {
        Ok((socket, marks, reports)) => {
            let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
            let inner = if how.walls.is_some() { only_child(pid) } else { Some(pid) };
            let process = rustix::process::Pid::from_raw(inner.unwrap_or(pid));
            let process = process.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
            let (pid, walls_gone) = (Pid::from_raw(pid), running.walls_gone);
            Ok(Launched { pid, process, socket, marks, walls_gone, reports })
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

/// Of `linux/close_range.h`.
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 1 << 2;

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
