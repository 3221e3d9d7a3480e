//! Files, as clients read, write and list them: with the rights of a command.
//!
//! [`Files`] is what the handlers of `http/files/` ask. It names no path to the system itself: a worker (`worker/`) opens what a
//! [`FilePath`] means to the user, and the agent reads ([`OpenFile`]) or writes ([`Writing`]) the descriptor that it gets, on threads
//! that are there for that. What was written takes its place as a whole; before, and where it comes to nothing, there is nothing to be
//! seen of it.

mod append_queue;
mod change;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod info;
mod list;
mod open_file;
mod path;
mod read;
mod tree;
mod uploads;
mod watch;
mod writing;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use sandpipe_protocol::FileInfo;

use self::append_queue::AppendQueue;
pub(crate) use self::{
    list::Listing,
    open_file::OpenFile,
    path::{FilePath, InvalidPath},
    read::content,
    tree::UnpackError,
    uploads::{Piece, UploadAnswer, UploadError, UploadKey, UploadOptions, Uploads},
    watch::{WatchOptions, WatchedDirectory},
    writing::Conditions,
};
use crate::{
    blocking::{self, NotRun},
    process::{Identity, SpawnDefaults, UserError},
    worker::{Stat, WorkerError, Workers},
};

/// The files that commands see.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) workers: Workers,
    workspace: PathBuf,
    default_user: Option<String>,
    /// The most bytes of a file that is written, where the policy has a limit.
    max_size: Option<u64>,
    appends: AppendQueue,
}

/// Why nobody's rights can be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoUser {
    #[error("\"user\": {0}")]
    Invalid(#[from] UserError),
    #[error(transparent)]
    NotRun(#[from] NotRun),
}

impl Files {
    /// Those that commands with these defaults see.
    pub(crate) fn new(defaults: &SpawnDefaults) -> Self {
        Self {
            workers: Workers::new(Arc::clone(&defaults.process_box), defaults.file_limit),
            workspace: defaults.workspace.clone(),
            default_user: defaults.default_user.clone(),
            max_size: defaults.limits.file_size,
            appends: AppendQueue::default(),
        }
    }

    /// What relative paths are relative to.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Looks up the user of a request, as the one of a command: none is the agent's own.
    ///
    /// # Errors
    /// There is none, or the agent may not become it.
    pub(crate) async fn user(&self, requested: Option<&str>) -> Result<Option<Identity>, NoUser> {
        let Some(user) = requested.or(self.default_user.as_deref()) else {
            return Ok(None);
        };
        let user = user.to_owned();
        Ok(Some(blocking::transfer(move || Identity::look_up(&user)).await??))
    }

    /// Says what is known of a file.
    ///
    /// # Errors
    /// There is none, or the user may not look there.
    pub(crate) async fn stat(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
    ) -> Result<FileInfo, WorkerError> {
        let stat = Stat { path: path.into() };
        let (metadata, _) = self.workers.ask(user, stat, Vec::new()).await?;
        Ok(info::file_info(path.absolute(), &metadata))
    }
}

/// Reads or writes something on one of the threads for that.
async fn transfer<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    blocking::transfer(job).await?
}
