//! Processes as `/proc` shows them, and marks by which the commands of a test are found.

use std::{collections::BTreeSet, path::PathBuf, str::FromStr};

use serde_json::{Value, json};

/// Whether a process exists and is no zombie.
pub(crate) fn lives(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z')
}

/// The state letter in `/proc/PID/stat`.
pub(crate) fn state_of(pid: u32) -> Option<char> {
    stat_of(pid, 0)
}

/// What is in `/proc/PID/stat`, counted from the state on: 1 is the parent, 3 the session.
pub(crate) fn stat_of<T: FromStr>(pid: u32, field: usize) -> Option<T> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(field)?.parse().ok()
}

/// The command line of a process, each argument with a NUL at its end; empty where there is no process.
pub(crate) fn command_line_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// The number in a line of `/proc/PID/status`.
pub(crate) fn status_of(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What a process has open.
pub(crate) fn open_files(pid: u32) -> Vec<PathBuf> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect()
}

/// The ids of all processes.
pub(crate) fn pids() -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The processes whose parent is `pid`.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    pids().filter(|child| stat_of(*child, 1) == Some(pid)).collect()
}

/// All processes, each with its parent.
pub(super) fn parents() -> Vec<(u32, u32)> {
    pids().filter_map(|pid| Some((pid, stat_of(pid, 1)?))).collect()
}

/// The processes that descend from another.
pub(crate) fn descendants_of(pid: u32) -> BTreeSet<u32> {
    let parents = parents();
    let mut found = BTreeSet::new();
    let mut next = vec![pid];
    while let Some(parent) = next.pop() {
        let children = parents.iter().filter(|(_, its_parent)| *its_parent == parent);
        next.extend(children.map(|(pid, _)| *pid).filter(|pid| found.insert(*pid)));
    }
    found
}

/// The variable that marks a command and all that comes of it.
pub(crate) const MARKER: &str = "MARKER_OF_THE_TESTS";

/// The value of that variable: no other run of the tests on this machine has it.
pub(crate) fn mark(marker: &str) -> String {
    format!("{marker} of {}", std::process::id())
}

/// A command that is marked.
pub(crate) fn marked_script(script: &str, marker: &str, pty: bool) -> Value {
    json!({ "command": "bash", "args": ["-c", script], "pty": pty, "env": { MARKER: mark(marker) } })
}

/// The living processes with this mark.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    having(&format!("{MARKER}={}\0", mark(marker)))
}

/// The living processes with any mark of this process.
pub(super) fn marked_by_this_process() -> Vec<u32> {
    having(&format!("{}\0", mark("")))
}

/// Those whose environment has this at the end of an entry. The environment of a zombie is empty.
fn having(end: &str) -> Vec<u32> {
    let has_end = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        is_in(&environment, end.as_bytes())
    };
    pids().filter(has_end).collect()
}

/// Whether one is in the other. Of all processes' environments byte by byte it would take long.
fn is_in(bytes: &[u8], wanted: &[u8]) -> bool {
    // SAFETY: both are there, of these lengths.
    #[allow(unsafe_code)]
    let found = unsafe {
        nix::libc::memmem(bytes.as_ptr().cast(), bytes.len(), wanted.as_ptr().cast(), wanted.len())
    };
    !found.is_null()
}
