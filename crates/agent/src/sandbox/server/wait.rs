use nix::unistd::Pid;
use rustix::{
    io::Errno,
    process::{WaitOptions, WaitStatus, wait},
};

/// A child that has ended, and was reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) pid: Pid,
    pub(super) code: i32,
}

/// Reaps a child that has ended; `None` where there is none.
pub(super) fn reap_next() -> Option<Ended> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if let Some(code) = exit_code(status) {
                    return Some(Ended { pid: Pid::from_raw(pid.as_raw_pid()), code });
                }
            }
            Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
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
