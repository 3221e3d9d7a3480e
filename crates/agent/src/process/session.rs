use std::{
    fs, io,
    sync::{Mutex, OnceLock, PoisonError},
};

use nix::{
    dir::Dir,
    errno::Errno,
    fcntl::OFlag,
    sys::{
        signal::{Signal, kill},
        stat::Mode,
    },
    unistd::{Pid, getsid},
};
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

/// The directory of all processes, which stays open: at a limit on descriptors it could not be opened
/// any more. None where the system has none.
static PROCESSES: OnceLock<Option<Mutex<Dir>>> = OnceLock::new();

/// Opens what it takes to find the members of sessions.
pub(crate) fn open_processes() -> Option<&'static Mutex<Dir>> {
    let open = || Dir::open("/proc", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty());
    PROCESSES.get_or_init(|| open().ok().map(Mutex::new)).as_ref()
}

/// The living members of a session. The system has no call for them.
pub(super) fn members(session: Pid) -> Vec<Pid> {
    let Some(processes) = open_processes() else {
        return Vec::new();
    };
    let mut processes = processes.lock().unwrap_or_else(PoisonError::into_inner);
    processes
        .iter()
        .filter_map(|entry| entry.ok()?.file_name().to_str().ok()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|pid| getsid(Some(*pid)) == Ok(session) && !is_dead(*pid))
        .collect()
}

/// Whether a process is dead: it may still wait to be reaped. Without a descriptor to read that with it
/// counts as living.
fn is_dead(pid: Pid) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !is_living(&stat),
        Err(error) => !is_lack(&error),
    }
}

fn is_lack(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM))
}

/// Sends a signal to one member. A member that ended meanwhile, and whose number a stranger may have
/// now, takes it without an effect.
pub(super) fn signal_member(session: Pid, member: Pid, signal: Signal) {
    let process = rustix::process::Pid::from_raw(member.as_raw());
    let number = signal;
    let signal = rustix::process::Signal::from_named_raw(signal as i32);
    let (Some(process), Some(signal)) = (process, signal) else {
        return;
    };
    let descriptor = match pidfd_open(process, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(error) if is_lack(&error.into()) => {
            // Between the two it could only be given to a stranger if it had ended and all other
            // numbers had been given away.
            if getsid(Some(member)) == Ok(session) {
                let _refused = kill(member, number);
            }
            return;
        }
        Err(_) => return,
    };
    // The descriptor stands for one process for ever, so this is about that one or a later one.
    if getsid(Some(member)) == Ok(session) {
        // It has ended, or runs as a user whom the agent may not signal.
        let _refused = pidfd_send_signal(descriptor, signal);
    }
}

/// Whether a `/proc/PID/stat` is that of a process that is not dead: after the name in parentheses, which
/// may hold anything, comes the state.
fn is_living(stat: &str) -> bool {
    let state = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().next());
    state.is_some_and(|state| !matches!(state, "Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_does_not_confuse() {
        assert!(is_living("77 (a) Z 1 (b)) S 1 70 66 34816 77 4194304"));
        assert!(!is_living("77 (a) S 1 (b)) Z 1 70 66 0 -1"));
        assert!(!is_living(""));
    }

    #[test]
    fn finds_this_process_in_its_session() {
        let session = getsid(None).unwrap();
        for _ in 0..2 {
            assert!(members(session).contains(&Pid::this()));
        }
    }
}
