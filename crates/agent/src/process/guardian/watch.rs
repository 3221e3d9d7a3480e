use std::{
    env,
    io::{self, Read},
};

use nix::sys::signal::Signal;

use super::messages::{GroupTable, MESSAGE_LEN};
use crate::process::group::Group;

/// The guardian's own name, as the list of processes shows it and as it knows itself by.
pub(super) const NAME: &str = "sandpipe-agent-guardian";

/// Whether this process was started to be a guardian.
#[must_use]
pub fn is_guardian() -> bool {
    env::args_os().next().is_some_and(|name| name == NAME)
}

/// Watches over the process groups of an agent until that has ended, and kills those that are left.
///
/// Its standard input is the pipe on which it is told of them.
pub fn guard() {
    let mut groups = GroupTable::default();
    let mut input = io::stdin().lock();
    let mut message = [0; MESSAGE_LEN];
    // An error is the end too: a guardian that can't listen must not leave anything behind.
    while input.read_exact(&mut message).is_ok() {
        groups.apply(message);
    }
    for (leader, scope) in groups.groups() {
        // One that nobody is left of takes it without an effect, and there is nobody to tell of one
        // that can't be killed.
        let _gone = Group::led_by(leader, scope).signal(Signal::SIGKILL);
    }
}
