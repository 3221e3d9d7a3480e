use std::{io, os::fd::OwnedFd, sync::Arc};

use super::group::Group;
use crate::sandbox::protocol::Failure;

/// Called with the exit code of a process once it has been reaped; dropped where there will be none.
pub(crate) type OnExit = Box<dyn FnOnce(i32) + Send>;

/// A process that was started.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) group: Arc<Group>,
    /// The master of its terminal, non-blocking.
    pub(crate) terminal: Option<OwnedFd>,
}

/// Why there is no process that anybody could know of.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// It could not become the program.
    Failed(Failure),
    /// There is no box to start it.
    NoBox(io::Error),
    /// The box died in the middle of it. What it may have begun was killed.
    OutcomeUnknown,
}
