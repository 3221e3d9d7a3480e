//! What a child of the box does between fork and exec. It has a copy of the box's memory, and is its only thread.

use std::{
    convert::Infallible,
    ffi::{CStr, CString},
    os::fd::OwnedFd,
};

use nix::{
    errno::Errno,
    libc,
    sys::{
        prctl::set_pdeathsig,
        resource::{Resource, setrlimit},
        signal::{SigSet, Signal},
    },
    unistd::{Gid, Pid, Uid, chdir, getppid, setgid, setgroups, setsid, setuid},
};
use rustix::{
    process::{DumpableBehavior, ioctl_tiocsctty, set_dumpable_behavior},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin},
};

use super::{close_inherited::close_inherited, program};
use crate::{
    sandbox::{
        channel,
        mark::Mark,
        protocol::{Credentials, Failure, Program, Reply, StartRequest, Stdio, Step},
    },
    walls, worker,
};

/// The signals that the box ignores: what a terminal or a shell sends to groups is not for it, and nobody but its agent ends it.
pub(super) const IGNORED: [i32; 5] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE];

/// What it takes to become the program.
#[derive(Debug)]
pub(super) struct Child<'a> {
    pub(super) request: &'a StartRequest,
    /// What it is found by that it starts, where it is in no cgroup of its own.
    pub(super) mark: Option<&'a Mark>,
    pub(super) streams: &'a [OwnedFd; 3],
    pub(super) reply: &'a OwnedFd,
    /// The box.
    pub(super) parent: Pid,
}

impl Child<'_> {
    /// Becomes the program that is asked for. Where that can't be, it says so, and ends.
    pub(super) fn run(&self) -> ! {
        let Err(failure) = self.become_program();
        // The agent may be gone.
        let _told = channel::send(self.reply, &Reply::Failed(failure).encode(), &[]);
        end()
    }

    fn become_program(&self) -> Result<Infallible, Failure> {
        let failed = |step| move |errno: Errno| Failure { step, errno: errno as i32 };
        let request = self.request;
        take_streams(self.streams).map_err(failed(Step::SetUp))?;
        self.lead_session().map_err(failed(Step::SetUp))?;
        // With its own rights: the box may have more.
        chdir(request.cwd.as_c_str()).map_err(failed(Step::Directory))?;
        self.confine().map_err(failed(Step::SetUp))?;
        match &request.program {
            Program::Command { args, env } => {
                let env = env.iter().map(CString::as_c_str).chain(self.mark.map(Mark::entry));
                let env: Vec<&CStr> = env.collect();
                Err(failed(Step::Execute)(program::execute(args, &env)))
            }
            Program::Worker => {
                // Nothing of it tells the copy of the box any more.
                let _unknown = set_dumpable_behavior(DumpableBehavior::NotDumpable);
                close_inherited().map_err(|_| failed(Step::SetUp)(Errno::EBADF))?;
                worker::serve();
                end()
            }
        }
    }

    /// Leads a session of its own, as the user that is asked for.
    fn lead_session(&self) -> Result<(), Errno> {
        let request = self.request;
        // A session leader also leads a process group. It has left the terminal that the agent may have
        // been started in, so that the command can neither read it nor type into it (POSIX, setsid).
        setsid()?;
        if let Stdio::Terminal { .. } = request.stdio {
            ioctl_tiocsctty(stdin()).map_err(errno)?;
        }
        setrlimit(Resource::RLIMIT_NOFILE, request.file_limits.soft, request.file_limits.hard)?;
        if let Some(mark) = self.mark {
            // Without it there is the entry in the environment.
            let _lower: Result<(), Errno> = mark.set_limit();
        }
        if let Some(credentials) = &request.credentials {
            take_on(credentials)?;
        }
        Ok(())
    }

    fn confine(&self) -> Result<(), Errno> {
        let request = self.request;
        let is_worker = request.program == Program::Worker;
        if is_worker {
            walls::confine_worker()?;
        } else {
            walls::confine_command()?;
        }
        // After the change of the user, which takes it back (prctl(2), PR_SET_PDEATHSIG). Where box and agent die at once nobody else
        // kills it. An emulated system may not know it.
        let _unknown = set_pdeathsig(Signal::SIGKILL);
        // It is not told of a death that came before; the agent is.
        if getppid() != self.parent {
            end()
        }
        // Exec keeps an ignored one ignored (POSIX, exec). To a worker they mean as little as to the box.
        for signal in IGNORED.into_iter().filter(|_| !is_worker) {
            set_action(signal, libc::SIG_DFL);
        }
        SigSet::empty().thread_set_mask()
    }
}

fn end() -> ! {
    // SAFETY: it ends the process and nothing else: what this copy of the box has is left alone.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(127)
    }
}

/// From here on it does not hold the box's socket open.
fn take_streams([their_stdin, their_stdout, their_stderr]: &[OwnedFd; 3]) -> Result<(), Errno> {
    dup2_stdin(their_stdin).map_err(errno)?;
    dup2_stdout(their_stdout).map_err(errno)?;
    dup2_stderr(their_stderr).map_err(errno)
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
