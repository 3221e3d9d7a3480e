use std::{ffi::CStr, os::fd::OwnedFd};

use nix::{
    errno::Errno,
    libc,
    sched::{CloneFlags, clone},
    sys::signal::{SigSet, SigmaskHow},
    unistd::{Pid, chdir, setsid},
};
use rustix::{
    process::ioctl_tiocsctty,
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin},
};

use super::{guardian::Registration, limits::FileLimit, program::Program, user::Credentials};

/// The stack that a process has until its program is executed: it calls nothing deep.
const STACK: usize = 32 * 1024;

/// A process that is to be, and what it does to itself before its program is executed.
pub(super) struct Child<'a> {
    pub(super) program: Program,
    /// Its stdin, stdout and stderr.
    pub(super) streams: [OwnedFd; 3],
    pub(super) cwd: &'a CStr,
    /// Whether its stdin is a terminal that it is to have as its own.
    pub(super) pty: bool,
    /// The user to become.
    pub(super) credentials: Option<Credentials>,
    pub(super) file_limit: FileLimit,
    pub(super) registration: Option<Registration>,
}

/// Why there is no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The system gives none.
    Process(Errno),
    /// A step before the program was executed.
    SetUp(Errno),
    /// The program can't be executed.
    Execute(Errno),
}

impl Child<'_> {
    /// Starts the process. It blocks until the program is executed or can't be. One that can't is left to
    /// be reaped.
    ///
    /// The process shares the agent's memory until then, and this thread waits, as with `vfork` and in
    /// `posix_spawn`: a copy of the memory, as `fork` makes it, would take longer than all the rest.
    pub(super) fn start(mut self) -> Result<Pid, Failure> {
        let mut failure = None;
        let mut stack = vec![0; STACK];
        // The agent's signal handlers must not run in a process that shares its memory.
        let mask =
            SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK).map_err(Failure::SetUp)?;
        let child = Box::new(|| {
            let why = self.become_program();
            failure = Some(why);
            // Where the memory is copied after all, as QEMU's user mode does it, this alone tells why.
            match why {
                Failure::Execute(Errno::ENOENT | Errno::ENOTDIR) => 127,
                _ => 126,
            }
        });
        // SAFETY: the process runs on a stack of its own, and what it uses of this thread's stays as it
        // is, since the thread goes on only when it has another program or is dead. It makes system
        // calls on what was made ready before: it neither allocates nor takes a lock, which another
        // thread could hold, and it leaves the C library's own state alone but for `errno`. Where it takes on
        // another user, the kernel makes the shared memory one that may not be dumped or traced
        // (prctl(2), PR_SET_DUMPABLE): that user can't look into it, and it stays so for the agent.
        #[allow(unsafe_code)]
        let started = unsafe {
            clone(
                child,
                &mut stack,
                CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK,
                Some(libc::SIGCHLD),
            )
        };
        mask.thread_set_mask().map_err(Failure::SetUp)?;
        let pid = started.map_err(Failure::Process)?;
        failure.map_or(Ok(pid), Err)
    }

    /// Becomes the program, or says why it can't.
    fn become_program(&mut self) -> Failure {
        match self.set_up() {
            Ok(()) => Failure::Execute(self.program.execute()),
            Err(errno) => Failure::SetUp(errno),
        }
    }

    fn set_up(&self) -> Result<(), Errno> {
        let [their_stdin, their_stdout, their_stderr] = &self.streams;
        dup2_stdin(their_stdin).map_err(errno)?;
        dup2_stdout(their_stdout).map_err(errno)?;
        dup2_stderr(their_stderr).map_err(errno)?;
        chdir(self.cwd)?;
        // A session leader also leads a process group. It has left the terminal that the agent may have
        // been started in, so that the command can neither read it nor type into it (POSIX, setsid).
        setsid()?;
        if self.pty {
            ioctl_tiocsctty(stdin()).map_err(errno)?;
        }
        if let Some(registration) = &self.registration {
            registration.register();
        }
        self.file_limit.restore()?;
        if let Some(credentials) = &self.credentials {
            credentials.take_on().map_err(errno)?;
        }
        reset_signals();
        SigSet::empty().thread_set_mask()
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

/// Gives every signal its default action: exec keeps an ignored one ignored (POSIX, exec), and an agent
/// that was started by `nohup` or with `&` would hand that on, so that its commands could not be
/// interrupted.
fn reset_signals() {
    // If the guardian is dead it is pending; to ignore it takes it back (POSIX, Signal Actions).
    set_action(libc::SIGPIPE, libc::SIG_IGN);
    for signal in 1..=libc::SIGRTMAX() {
        // SIGKILL, SIGSTOP and the C library's own signals are refused, which is as well.
        set_action(signal, libc::SIG_DFL);
    }
}

/// Has a signal ignored, or gives it its default action.
fn set_action(signal: i32, action: libc::sighandler_t) {
    // SAFETY: `signal` is async-signal-safe, and neither action is a handler of ours. The actions of a
    // process are its own also where it shares the memory.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(signal, action);
    }
}
