use rustix::process::WaitStatus;

/// The exit code that a shell would report: the process's own, or 128 + N after death by signal N
/// (POSIX, Shell Command Language, 2.8.2). `None` for what is not an end.
///
/// The signal is a number here: the real-time ones have no names.
pub(super) fn exit_code(status: WaitStatus) -> Option<i32> {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
}
