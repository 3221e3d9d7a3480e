//! Marks in the environment, by which is found what a command has started, where it can't have a cgroup of its own.

use std::ffi::{CStr, CString};

use nix::unistd::Pid;

use super::{
    environment::{self, Patience},
    protocol::ExecKey,
};

/// The variable that marks what a command has started, where there are no cgroups. Agents don't hand on variables of this beginning:
/// what one starts that runs within a command is marked as its own.
const VARIABLE: &str = "SANDPIPE_EXEC";

/// A mark, as an entry of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(CString);

impl Mark {
    /// That of a command.
    pub(super) fn of(beginning: &str, key: ExecKey) -> Self {
        // There is no NUL in it.
        Self(CString::new(format!("{VARIABLE}={beginning}.{}", key.0)).unwrap_or_default())
    }

    pub(super) fn entry(&self) -> &CStr {
        &self.0
    }

    /// Whether a process was started with it.
    pub(super) fn is_on(&self, pid: Pid, patience: &Patience) -> bool {
        has_entry(pid, patience, |entry| entry == self.0.as_bytes())
    }
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
