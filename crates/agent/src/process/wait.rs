use std::mem::MaybeUninit;

use nix::{errno::Errno, libc, unistd::Pid};
use rustix::process::WaitOptions;

use super::exit_code::exit_code;

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

/// Reaps a child that has ended, and gives its exit code.
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
