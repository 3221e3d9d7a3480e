use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    errno::Errno,
    unistd::{ForkResult, Pid, Uid},
};

use super::{child::Child, group::Scope, leaf::Leaf, terminal::Terminal};
use crate::{
    cgroups::fork_into,
    sandbox::{
        channel,
        mark::Mark,
        protocol::{Failure, Reply, StartRequest, Stdio, Step},
    },
};

/// Starts a process with the descriptors that came with the request, and says so over the last of them, the reply socket; also returns
/// what belongs to it. `None` where there is no process.
pub(super) fn start(
    request: &StartRequest,
    mut descriptors: Vec<OwnedFd>,
    marks: &str,
) -> Option<(Pid, Scope)> {
    // Where some are missing nobody hears an answer, which is one, too.
    let reply = descriptors.pop()?;
    let cgroup = if request.cgroup { Some(descriptors.pop()?) } else { None };
    let started = start_process(request, descriptors, cgroup, marks, &reply);
    let (started, answer, master) = match started {
        Ok((pid, scope, master)) => (Some((pid, scope)), Reply::Started(pid.as_raw()), master),
        Err(failure) => (None, Reply::Failed(failure), None),
    };
    let master = master.as_ref().map(AsFd::as_fd);
    // The agent may be gone.
    let _told = channel::send(&reply, &answer.encode(), master.as_slice());
    started
}

/// Also returns the master of a terminal.
fn start_process(
    request: &StartRequest,
    pipes: Vec<OwnedFd>,
    cgroup: Option<OwnedFd>,
    marks: &str,
    reply: &OwnedFd,
) -> Result<(Pid, Scope, Option<OwnedFd>), Failure> {
    let (streams, master) = streams(request, pipes).map_err(|error| not_set_up(&error))?;
    let cgroup = cgroup.map(Leaf::new);
    let mark = (request.contain && cgroup.is_none()).then(|| Mark::of(marks, request.key));
    let child =
        Child { request, mark: mark.as_ref(), streams: &streams, reply, parent: Pid::this() };
    match fork_into(cgroup.as_ref().map(AsFd::as_fd)) {
        Ok(ForkResult::Parent { child }) => {
            let leaf = cgroup.filter(|_| request.contain).map(Scope::Leaf);
            let scope = leaf.or(mark.map(Scope::Mark));
            Ok((child, scope.unwrap_or_else(|| Scope::open(request.stdio)), master))
        }
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
