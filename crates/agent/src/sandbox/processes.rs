//! The processes that there are, as /proc tells them (proc(5)).

use std::fs;

use nix::{sys::signal::Signal, unistd::Pid};
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

/// A process that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(super) parent: Pid,
    pub(super) group: Pid,
    pub(super) session: Pid,
    /// When it was started: with its number that stands for it alone.
    pub(crate) started: u64,
}

impl Process {
    /// Whether it is the same process, whatever has become of it.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }
}

/// All processes that live. The system has no call for them.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| process(Pid::from_raw(pid)))
        .collect()
}

/// The process of that number, if there is one that lives.
pub(crate) fn process(pid: Pid) -> Option<Process> {
    read_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether a process is just executing a program: it has neither arguments nor an environment then.
pub(super) fn is_executing(pid: Pid) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let is_program = read_stat(&stat).is_some() && !is_kernel_thread(&stat);
    is_program
        && fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|arguments| arguments.is_empty())
}

/// By its flags, the 9th field of its `/proc/PID/stat`.
fn is_kernel_thread(stat: &str) -> bool {
    // PF_KTHREAD of <linux/sched.h>.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = rest.split_whitespace().nth(6).and_then(|flags| flags.parse::<u32>().ok());
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

/// Sends a signal to a process, if it still is one of those that are meant. One that ended meanwhile, and whose number a stranger may
/// have now, takes it without an effect.
pub(crate) fn signal(pid: Pid, signal: Signal, is_meant: impl Fn(&Process) -> bool) {
    let number = rustix::process::Pid::from_raw(pid.as_raw());
    let named = rustix::process::Signal::from_named_raw(signal as i32);
    let (Some(number), Some(named)) = (number, named) else {
        return;
    };
    let Ok(descriptor) = pidfd_open(number, PidfdFlags::empty()) else {
        return;
    };
    // The descriptor stands for one process for ever, so this is about that one or a later one.
    if process(pid).is_some_and(|process| is_meant(&process)) {
        // It has ended, or runs as a user whom this process may not signal.
        let _refused = pidfd_send_signal(descriptor, named);
    }
}

/// Reads a `/proc/PID/stat`; `None` where that is not of a living process. After the name in parentheses, which may hold anything,
/// come the state, the parent, the group and the session; the number of threads is the 20th of all fields, the start the 22nd. A process
/// whose first thread has ended lives as long as another one does.
fn read_stat(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(' ')?;
    let mut fields = rest.rsplit_once(')')?.1.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let number = |text: Option<&str>| Some(Pid::from_raw(text?.parse().ok()?));
    let parent = number(fields.next())?;
    let group = number(fields.next())?;
    let session = number(fields.next())?;
    let threads: u32 = fields.nth(13)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    let process = Process { pid: number(Some(pid))?, parent, group, session, started };
    (!has_ended || threads > 1).then_some(process)
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpgrp, getppid, getsid};

    use super::*;

    #[test]
    fn the_name_of_a_process_does_not_confuse() {
        let rest = "34816 77 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11";
        let process = read_stat(&format!("77 (a) Z 1 (b)) S 1 70 66 {rest}")).unwrap();
        let pid = Pid::from_raw;
        let expected = Process {
            pid: pid(77),
            parent: pid(1),
            group: pid(70),
            session: pid(66),
            started: 987_654,
        };
        assert_eq!(process, expected);
        assert_eq!(read_stat(&format!("77 (a) S 1 (b)) Z 1 70 66 {rest}")), None);
        let two_threads = rest.replace("20 0 1 0", "20 0 2 0");
        let led_by_none = format!("77 (a) Z 1 (b)) Z 1 70 66 {two_threads}");
        assert_eq!(read_stat(&led_by_none), Some(expected));
        assert_eq!(read_stat(""), None);
    }

    #[test]
    fn a_kernel_thread_executes_nothing() {
        let rest = "0 0 0 20 0 1 0 3 0 0";
        assert!(is_kernel_thread(&format!("2 (kthreadd) S 0 0 0 0 -1 2129984 0 {rest}")));
        assert!(!is_kernel_thread(&format!("77 (a) S 1) S 1 70 66 34816 77 4194304 1 {rest}")));
        assert!(!is_executing(Pid::from_raw(2)));
        assert!(!is_executing(Pid::this()));
    }

    #[test]
    fn finds_this_process() {
        let own = process(Pid::this()).unwrap();
        assert_eq!((own.pid, own.parent, own.group), (Pid::this(), getppid(), getpgrp()));
        assert_eq!(own.session, getsid(None).unwrap());
        assert!(all().contains(&own));
    }
}
