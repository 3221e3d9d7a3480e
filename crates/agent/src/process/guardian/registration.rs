use std::{os::fd::OwnedFd, sync::Arc};

use nix::unistd::Pid;

use super::messages::{GroupId, Message, report};
use crate::process::group::Scope;

/// How a process that is being started makes itself known to the guardian. It lives up to the exec.
#[derive(Clone, Debug)]
pub(in crate::process) struct Registration {
    pub(in crate::process) pipe: Arc<OwnedFd>,
    pub(in crate::process) group_id: GroupId,
    pub(in crate::process) scope: Scope,
}

impl Registration {
    /// Registers the group that this process leads. It is async-signal-safe.
    ///
    /// A guardian that is dead is no reason not to start: the agent tells the next one.
    pub(in crate::process) fn register(&self) {
        let _dead = report(&self.pipe, Message::Led(self.group_id, Pid::this(), self.scope));
    }
}
