use std::{io, path::Path};

use rustix::io::Errno;

use crate::worker::failure::Failure;

/// Why a worker has not done something, as far as is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// It could not be done.
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("the process that opens files can't be started: {0}")]
    NotStarted(io::Error),
    #[error("the agent has no room for it now: {0}")]
    NoRoom(io::Error),
    #[error(
        "the agent works on files for {0} users already, and each takes a process: wait for one of those"
    )]
    TooMany(usize),
    #[error("{0} directories are read or written as a whole already: try again when one is done")]
    TooManyTrees(usize),
    #[error(
        "the process that opens files has ended in the middle of it: it may have been done or not"
    )]
    Ended,
    #[error("the agent is stopping")]
    Stopping,
}

impl WorkerError {
    /// What the system has said when a file was read or written that a worker has opened.
    pub(crate) fn of_io(path: &Path, error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(errno) => Self::Failed(Failure::system(path, errno)),
            None => Self::NoRoom(io::Error::other(error.to_string())),
        }
    }
}
