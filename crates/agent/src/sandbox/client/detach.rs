use std::{os::unix::process::CommandExt, process::Command};

use nix::{libc, unistd::setsid};

/// Of `linux/close_range.h`.
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 1 << 2;

/// Keeps from a process of the agent's what the agent itself was started with.
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: only system calls that are async-signal-safe, and no memory is allocated.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            // What the agent itself was started with is not for it. Where the system does not know the call, the box closes it.
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC);
            // What a terminal or a shell sends to the agent's group is not for it.
            setsid()?;
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                // An ignored signal stays so over exec (POSIX, `exec`): there is no moment at
                // which it could be ended by one.
                libc::signal(signal, libc::SIG_IGN);
            }
            Ok(())
        });
    }
}
