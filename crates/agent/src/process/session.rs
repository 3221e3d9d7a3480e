use std::fs;

use nix::{
    sys::signal::Signal,
    unistd::{Pid, getsid},
};
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

/// The living members of a session. The system has no call for them: `/proc` says it of each process.
pub(super) fn members(session: Pid) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| session_of_living(&stat) == Some(session))
        })
        .map(Pid::from_raw)
        .collect()
}

/// Sends a signal to one member. A member that ended meanwhile, and whose number a stranger may have
/// now, takes it without an effect.
pub(super) fn signal_member(session: Pid, member: Pid, signal: Signal) {
    let process = rustix::process::Pid::from_raw(member.as_raw());
    let signal = rustix::process::Signal::from_named_raw(signal as i32);
    let (Some(process), Some(signal)) = (process, signal) else {
        return;
    };
    let Ok(descriptor) = pidfd_open(process, PidfdFlags::empty()) else {
        return;
    };
    // The descriptor stands for one process for ever, so this is about that one or a later one.
    if getsid(Some(member)) == Ok(session) {
        // It has ended, or runs as a user whom the agent may not signal.
        let _refused = pidfd_send_signal(descriptor, signal);
    }
}

/// The session in a `/proc/PID/stat`, unless the process is dead: the name in parentheses, which may
/// hold anything, then state, parent, group and session.
fn session_of_living(stat: &str) -> Option<Pid> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(2)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_does_not_confuse() {
        let stat = "77 (a) Z 1 (b)) S 1 70 66 34816 77 4194304";
        assert_eq!(session_of_living(stat), Some(Pid::from_raw(66)));
        assert_eq!(session_of_living("77 (a) Z 1 70 66 0 -1"), None);
        assert_eq!(session_of_living(""), None);
    }

    #[test]
    fn finds_this_process_in_its_session() {
        let session = getsid(None).unwrap();
        assert!(members(session).contains(&Pid::this()));
    }
}
