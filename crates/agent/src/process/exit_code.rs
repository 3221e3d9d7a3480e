use nix::sys::wait::WaitStatus;

/// The exit code that a shell would report: the process's own, or 128 + N after death by signal N
/// (POSIX, Shell Command Language, 2.8.2). `None` for what is not an end.
pub(super) fn exit_code(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}
