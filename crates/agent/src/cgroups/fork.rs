use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::Path,
};

use nix::{
    errno::Errno,
    libc,
    sys::wait::{WaitPidFlag, WaitStatus, waitpid},
    unistd::{ForkResult, Pid, fork},
};

use super::cgroup::open_kill;

/// Forks, into a cgroup if there is one for the child (clone(2), `CLONE_INTO_CGROUP`; it takes no time there, while to move a process
/// later makes all processes of the system wait). No other thread may run.
pub(crate) fn fork_into(cgroup: Option<BorrowedFd<'_>>) -> Result<ForkResult, Errno> {
    match cgroup {
        Some(cgroup) => clone_into(cgroup, libc::SIGCHLD),
        // SAFETY: there is no other thread, so the child may do whatever a process may.
        #[allow(unsafe_code)]
        None => unsafe { fork() },
    }
}

/// Starts a process in a cgroup, which ends by itself, and looks whether it could be killed there.
///
/// # Errors
/// Processes can't be started or killed in it.
pub(super) fn try_out(cgroup: &Path) -> io::Result<()> {
    open_kill(cgroup)?;
    let directory = File::open(cgroup)?;
    // Whoever reaps all children passes over one that sends no signal (wait(2), `__WALL`).
    match clone_into(directory.as_fd(), 0)? {
        ForkResult::Parent { child } => match waitpid(child, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Exited(_, 0) => Ok(()),
            status => Err(io::Error::other(format!("it ended with {status:?}"))),
        },
        // SAFETY: it ends the process and nothing else, also where there were other threads.
        #[allow(unsafe_code)]
        ForkResult::Child => unsafe { libc::_exit(0) },
    }
}

/// The parent gets that signal at the child's end.
fn clone_into(cgroup: BorrowedFd<'_>, exit_signal: i32) -> Result<ForkResult, Errno> {
    // SAFETY: zeros are a valid value: nothing is asked for.
    #[allow(unsafe_code)]
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = u64::try_from(exit_signal).map_err(|_| Errno::EINVAL)?;
    args.cgroup = u64::try_from(cgroup.as_raw_fd()).map_err(|_| Errno::EBADF)?;
    // SAFETY: without a stack of its own the child goes on with a copy of this one, as after a fork. Where there are other threads it
    // does nothing but end.
    #[allow(unsafe_code)]
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
    match Errno::result(pid)? {
        0 => Ok(ForkResult::Child),
        pid => {
            let child = Pid::from_raw(i32::try_from(pid).map_err(|_| Errno::EOVERFLOW)?);
            Ok(ForkResult::Parent { child })
        }
    }
}

/// Of `linux/sched.h`.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
