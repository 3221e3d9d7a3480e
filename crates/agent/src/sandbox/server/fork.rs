use std::os::fd::{AsRawFd, BorrowedFd};

use nix::{
    errno::Errno,
    libc,
    unistd::{ForkResult, Pid, fork},
};

/// Forks, into a cgroup if there is one for the child (clone(2), `CLONE_INTO_CGROUP`; it takes no time there, while to move a process
/// later makes all processes of the system wait).
pub(super) fn fork_into(cgroup: Option<BorrowedFd<'_>>) -> Result<ForkResult, Errno> {
    let Some(cgroup) = cgroup else {
        // SAFETY: there is no other thread, so the child may do whatever a process may.
        #[allow(unsafe_code)]
        return unsafe { fork() };
    };
    // SAFETY: zeros are a valid value: nothing is asked for.
    #[allow(unsafe_code)]
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = u64::try_from(libc::SIGCHLD).map_err(|_| Errno::EINVAL)?;
    args.cgroup = u64::try_from(cgroup.as_raw_fd()).map_err(|_| Errno::EBADF)?;
    // SAFETY: without a stack of its own the child goes on with a copy of this one, as after a fork. There is no other thread.
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
