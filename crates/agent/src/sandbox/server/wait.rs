use nix::{libc, unistd::Pid};
use rustix::{
    io::Errno,
    process::{self, WaitId, WaitIdOptions, WaitOptions, WaitStatus, wait, waitid},
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
                let pid = Pid::from_raw(pid.as_raw_pid());
                if let Some(code) = exit_code(status) {
                    return Some(Ended { pid, code });
                }
                if let Some(signal) = status.stopping_signal() {
                    let_go(pid, signal);
                }
            }
            Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Returns whether a child is stopped by a signal now, if that has changed since it was last asked.
pub(super) fn stop_changed(pid: Pid) -> Option<bool> {
    // Its end is left for the others to reap.
    let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
    let id = WaitId::Pid(process::Pid::from_raw(pid.as_raw())?);
    let mut is_stopped = None;
    while let Ok(Some(status)) = waitid(id.clone(), options) {
        is_stopped = Some(status.stopped());
    }
    is_stopped
}

/// Has a child go on with the signal that it was stopped for. The box asks for no stops (`waitpid`, `WUNTRACED`): it hears of those alone
/// whose child has made it its tracer (ptrace(2), `PTRACE_TRACEME`), and would wait for it at each signal. SIGTRAP is for the tracer: it says that
/// the child executes another program.
fn let_go(pid: Pid, signal: i32) {
    let signal = if signal == libc::SIGTRAP { 0 } else { signal };
    // SAFETY: it touches no memory of this process. That the child has died meanwhile is told by its end.
    #[allow(unsafe_code)]
    unsafe {
        libc::ptrace(libc::PTRACE_DETACH, pid.as_raw(), 0, signal);
    }
}

/// The exit code that a shell would report: the process's own, or 128 + N after death by signal N
/// (POSIX, Shell Command Language, 2.8.2). `None` for what is not an end.
///
/// The signal is a number here: the real-time ones have no names.
fn exit_code(status: WaitStatus) -> Option<i32> {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
}
