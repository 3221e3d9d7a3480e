use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    errno::Errno,
    unistd::{ForkResult, Pid, Uid, fork},
};

use super::{child, terminal::Terminal};
use crate::sandbox::{
    channel,
    protocol::{Failure, Reply, StartRequest, Stdio, Step},
};

/// Starts a process with the descriptors that came with the request, and says so over the last of them, the reply socket. `None` where
/// there is no process.
pub(super) fn start(request: &StartRequest, mut descriptors: Vec<OwnedFd>) -> Option<Pid> {
    // Where some are missing nobody hears an answer, which is one, too.
    let reply = descriptors.pop()?;
    let (pid, answer, master) = match start_process(request, descriptors, &reply) {
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
    reply: &OwnedFd,
) -> Result<(Pid, Option<OwnedFd>), Failure> {
    let failed = |error: io::Error| Failure {
        step: Step::SetUp,
        errno: error.raw_os_error().unwrap_or(Errno::EPROTO as i32),
    };
    let (streams, master) = streams(request, pipes).map_err(failed)?;
    // SAFETY: there is no other thread, so the child may do whatever a process may. It ends in any case before it returns.
    #[allow(unsafe_code)]
    let forked = unsafe { fork() };
    match forked {
        Ok(ForkResult::Parent { child }) => Ok((child, master)),
        Ok(ForkResult::Child) => child::run(request, &streams, reply),
        Err(errno) => Err(Failure { step: Step::Process, errno: errno as i32 }),
    }
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
