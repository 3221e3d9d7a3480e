use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    errno::Errno,
    unistd::{ForkResult, Pid, Uid},
};

use super::{child::Child, fork::fork_into, group::Scope, terminal::Terminal};
use crate::sandbox::{
    channel,
    protocol::{Failure, Reply, StartRequest, Stdio, Step},
};

/// Starts a process in a scope that is its own, with the descriptors that came with the request, and says so over the last of them, the
/// reply socket. `None` where there is no process.
pub(super) fn start(
    request: &StartRequest,
    mut descriptors: Vec<OwnedFd>,
    scope: Result<&Scope, Errno>,
) -> Option<Pid> {
    // Where some are missing nobody hears an answer, which is one, too.
    let reply = descriptors.pop()?;
    let limits = if request.limited { Some(descriptors.pop()?) } else { None };
    let started = match scope {
        Ok(scope) => start_process(request, descriptors, limits.as_ref(), scope, &reply),
        Err(errno) => Err(Failure { step: Step::SetUp, errno: errno as i32 }),
    };
    let (pid, answer, master) = match started {
        Ok((pid, master)) => (Some(pid), Reply::Started(pid.as_raw()), master),
        Err(failure) => (None, Reply::Failed(failure), None),
    };
    let master = master.as_ref().map(AsFd::as_fd);
    // The agent may be gone.
    let _told = channel::send(&reply, &answer.encode(), master.as_slice());
    pid
}

/// Also returns the master of a terminal.
fn start_process(
    request: &StartRequest,
    pipes: Vec<OwnedFd>,
    limits: Option<&OwnedFd>,
    scope: &Scope,
    reply: &OwnedFd,
) -> Result<(Pid, Option<OwnedFd>), Failure> {
    let (streams, master) = streams(request, pipes).map_err(|error| not_set_up(&error))?;
    let cgroup = match scope {
        Scope::Leaf(leaf) => Some(leaf.open().map_err(|error| not_set_up(&error))?),
        Scope::Group | Scope::Session | Scope::Mark(_) => None,
    };
    let child = Child { request, scope, streams: &streams, limits, reply, parent: Pid::this() };
    match fork_into(cgroup.as_ref().map(AsFd::as_fd)) {
        Ok(ForkResult::Parent { child }) => Ok((child, master)),
        Ok(ForkResult::Child) => child.run(),
        Err(errno) => Err(Failure { step: Step::Process, errno: errno as i32 }),
    }
}

fn not_set_up(error: &io::Error) -> Failure {
    let errno = error.raw_os_error().unwrap_or(Errno::EPROTO as i32);
    Failure { step: Step::SetUp, errno }
}

/// The command's ends of its streams, and the master of its terminal.
fn streams(
    request: &StartRequest,
    pipes: Vec<OwnedFd>,
) -> io::Result<([OwnedFd; 3], Option<OwnedFd>)> {
    match request.stdio {
        Stdio::Pipes => {
            let pipes = pipes.try_into().map_err(|_| io::Error::from(Errno::EPROTO))?;
            Ok((pipes, None))
        }
        Stdio::Terminal { cols, rows, at_end } => {
            let user = request.credentials.as_ref().map(|user| Uid::from_raw(user.uid));
            let Terminal { master, slave } = Terminal::open(cols, rows, at_end, user)?;
            let streams = [slave.try_clone()?, slave.try_clone()?, slave];
            Ok((streams, Some(master)))
        }
    }
}
