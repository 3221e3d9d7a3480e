//! What a child of the box does between fork and exec. It has a copy of the box's memory, and is its only thread.

use std::{convert::Infallible, os::fd::OwnedFd};

use nix::{
    errno::Errno,
    libc,
    sys::{
        resource::{Resource, setrlimit},
        signal::{SigSet, Signal},
    },
    unistd::{Gid, Uid, chdir, setgid, setgroups, setsid, setuid},
};
use rustix::{
    process::ioctl_tiocsctty,
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin},
};

use super::program;
use crate::sandbox::{
    channel,
    protocol::{Credentials, Failure, Reply, StartRequest, Stdio, Step},
};

/// The signals that the box ignores: what a terminal or a shell sends to groups is not for it, and nobody but its agent ends it.
pub(super) const IGNORED: [i32; 5] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE];

/// Becomes the program that is asked for. Where that can't be, it says so, and ends.
pub(super) fn run(request: &StartRequest, streams: &[OwnedFd; 3], reply: &OwnedFd) -> ! {
    let Err(failure) = become_program(request, streams);
    // The agent may be gone.
    let _told = channel::send(reply, &Reply::Failed(failure).encode(), &[]);
    // SAFETY: it ends the process and nothing else: what this copy of the box has is left alone.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(127)
    }
}

fn become_program(request: &StartRequest, streams: &[OwnedFd; 3]) -> Result<Infallible, Failure> {
    let failed = |step| move |errno: Errno| Failure { step, errno: errno as i32 };
    take_streams(streams).map_err(failed(Step::SetUp))?;
    chdir(request.cwd.as_c_str()).map_err(failed(Step::Directory))?;
    set_up(request).map_err(failed(Step::SetUp))?;
    Err(failed(Step::Execute)(program::execute(&request.args, &request.env)))
}

/// From here on it does not hold the box's socket open.
fn take_streams([their_stdin, their_stdout, their_stderr]: &[OwnedFd; 3]) -> Result<(), Errno> {
    dup2_stdin(their_stdin).map_err(errno)?;
    dup2_stdout(their_stdout).map_err(errno)?;
    dup2_stderr(their_stderr).map_err(errno)
}

fn set_up(request: &StartRequest) -> Result<(), Errno> {
    // A session leader also leads a process group. It has left the terminal that the agent may have
    // been started in, so that the command can neither read it nor type into it (POSIX, setsid).
    setsid()?;
    if let Stdio::Terminal { .. } = request.stdio {
        ioctl_tiocsctty(stdin()).map_err(errno)?;
    }
    setrlimit(Resource::RLIMIT_NOFILE, request.file_limits.soft, request.file_limits.hard)?;
    if let Some(credentials) = &request.credentials {
        take_on(credentials)?;
    }
    // After the change of the user, which takes it back. Where box and agent die at once nobody else kills it.
    let _unknown = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    // Exec keeps an ignored one ignored (POSIX, exec).
    for signal in IGNORED {
        set_action(signal, libc::SIG_DFL);
    }
    SigSet::empty().thread_set_mask()
}

fn take_on(credentials: &Credentials) -> Result<(), Errno> {
    let groups: Vec<_> = credentials.groups.iter().copied().map(Gid::from_raw).collect();
    // The user last: it gives up the right to set the groups.
    setgroups(&groups)?;
    setgid(Gid::from_raw(credentials.gid))?;
    setuid(Uid::from_raw(credentials.uid))
}

/// Has a signal ignored, or gives it its default action. SIGKILL, SIGSTOP and the C library's own signals are refused, which is as
/// well.
pub(super) fn set_action(signal: i32, action: libc::sighandler_t) {
    // SAFETY: neither action is a handler.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(signal, action);
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}
