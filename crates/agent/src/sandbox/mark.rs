//! Marks, by which is found what a command has started, where it can't have a cgroup of its own: an
//! entry of the environment, and a resource limit, which an empty environment does not take off.

use std::{
    ffi::{CStr, CString},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
};

use nix::{
    errno::Errno,
    sys::resource::{Resource, setrlimit},
    unistd::Pid,
};

use super::{
    environment::{self, Patience},
    protocol::ExecKey,
};

/// The variable that marks what a command has started, where there are no cgroups. Agents don't hand on variables of this beginning:
/// what one starts that runs within a command is marked as its own.
const VARIABLE: &str = "SANDPIPE_EXEC";

/// A mark of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Entry of the environment.
    entry: CString,
    /// Limit on the time that a real-time process takes without waiting, in microseconds: at least
    /// 146,000 years. It is inherited, and without more rights it can only be lowered
    /// (getrlimit(2)).
    limit: u64,
}

impl Mark {
    /// That of a command.
    pub(super) fn of(beginning: &str, key: ExecKey) -> Self {
        let entry = format!("{VARIABLE}={beginning}.{}", key.0);
        let mut hasher = DefaultHasher::new();
        entry.hash(&mut hasher);
        let limit = (1 << 62) | (hasher.finish() >> 2);
        // There is no NUL in it.
        Self { entry: CString::new(entry).unwrap_or_default(), limit }
    }

    pub(super) fn entry(&self) -> &CStr {
        &self.entry
    }

    /// Sets the limit for this process, and all that it starts.
    ///
    /// # Errors
    /// This process is within a command of another agent, which has set a lower one.
    pub(super) fn set_limit(&self) -> Result<(), Errno> {
        setrlimit(Resource::RLIMIT_RTTIME, self.limit, self.limit)
    }

    /// Whether a process was started with it.
    pub(super) fn is_on(&self, pid: Pid, patience: &Patience) -> bool {
        real_time_limit(pid) == Some(self.limit)
            || has_entry(pid, patience, |entry| entry == self.entry.as_bytes())
    }
}

/// Reads the hard limit of a process (proc(5), `/proc/pid/limits`): unlike its environment,
/// anybody may.
fn real_time_limit(pid: Pid) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max realtime timeout"))?;
    // Behind it is the unit.
    line.split_whitespace().nth_back(1)?.parse().ok()
}

/// Whether a process was started with a mark of this beginning.
pub(super) fn is_marked(pid: Pid, beginning: &str, patience: &Patience) -> bool {
    let beginning = format!("{VARIABLE}={beginning}.");
    has_entry(pid, patience, |entry| entry.starts_with(beginning.as_bytes()))
}

/// Looks at the environment that a process was started with. Where that can't be read there is none.
fn has_entry(pid: Pid, patience: &Patience, is_meant: impl FnMut(&[u8]) -> bool) -> bool {
    environment::of(pid, patience).unwrap_or_default().split(|byte| *byte == 0).any(is_meant)
}
