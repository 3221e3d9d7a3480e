use std::mem::MaybeUninit;

use nix::{errno::Errno, libc, unistd::Pid};
use rustix::process::{WaitOptions, WaitStatus};

/// A child that has ended, of all or of those that `which` and `id` say (POSIX, waitid). It is left as
/// it is: its number can't be given away before it is reaped.
pub(super) fn next_ended(which: libc::idtype_t, id: Option<Pid>) -> Option<Pid> {
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // A process id is positive.
    let id = id.map_or(0, |id| id.as_raw().unsigned_abs());
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `info` is valid to write to, and all zeros are a valid value of it too: that is
        // what stays where no child has ended. The number is there after every success (POSIX,
        // waitid). Safe wrappers refuse a real-time signal, or do not give the number.
        #[allow(unsafe_code)]
        let (result, pid) = unsafe {
            let result = libc::waitid(which, id, info.as_mut_ptr(), flags);
            (result, info.assume_init().si_pid())
        };
        match Errno::result(result) {
            Ok(_) => return Some(Pid::from_raw(pid)).filter(|pid| pid.as_raw() > 0),
            Err(Errno::EINTR) => {}
            Err(_) => return None,
        }
    }
}

/// Reaps a child that has ended, and returns its exit code.
pub(super) fn reap(pid: Pid) -> Option<i32> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw());
    loop {
        match rustix::process::waitpid(pid, WaitOptions::empty()) {
            Ok(ended) => return exit_code(ended?.1),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// The exit code that a shell would report: the process's own, or 128 + N after death by signal N
/// (POSIX, Shell Command Language, 2.8.2). `None` for what is not an end.
///
/// The signal is a number here: the real-time ones have no names.
fn exit_code(status: WaitStatus) -> Option<i32> {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
}
