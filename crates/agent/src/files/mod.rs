//! Files, as clients read, write and list them: with the rights of a command.
//!
//! [`Files`] is what the handlers of `http/files/` ask. It names no path to the system itself: a worker (`worker/`) opens what a
//! [`FilePath`] means to the user, and the agent reads or writes the descriptor that it gets.

mod info;
mod path;
mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandpipe_protocol::FileInfo;

pub(crate) use path::{FilePath, InvalidPath};
pub(crate) use read::ReadError;

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
        let SpawnDefaults { workspace, default_user, file_limit, process_box, .. } = defaults;
        Self {
            workers: Workers::new(Arc::clone(process_box), *file_limit),
            workspace: workspace.clone(),
            default_user: default_user.clone(),
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
        let (metadata, _) =
            self.workers.ask(user, Stat { path: path.absolute().into() }, Vec::new()).await?;
        Ok(info::file_info(path.absolute(), &metadata))
    }
}
