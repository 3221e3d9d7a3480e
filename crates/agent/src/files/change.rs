use super::{FilePath, Files};
use crate::{
    process::Identity,
    worker::{Copy, MakeDirectory, Move, RemoveDirectory, RemoveFile, WorkerError},
};

/// What is done by one operation of a worker. Where a future is dropped it is done nevertheless.
impl Files {
    /// Makes a directory, and those above it that are missing.
    pub(crate) async fn make_directory(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
    ) -> Result<(), WorkerError> {
        let make = MakeDirectory { path: path.into() };
        self.workers.ask(user, make, Vec::new()).await.map(drop)
    }

    /// Removes what is no directory.
    pub(crate) async fn remove_file(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
    ) -> Result<(), WorkerError> {
        let remove = RemoveFile { path: path.into() };
        self.workers.ask(user, remove, Vec::new()).await.map(drop)
    }

    /// Removes a directory; one that is not empty only where all that is in it is to be removed, too.
    pub(crate) async fn remove_directory(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
        recursive: bool,
    ) -> Result<(), WorkerError> {
        let workspace = self.workspace.clone();
        let remove = RemoveDirectory { path: path.into(), recursive, workspace };
        self.workers.ask(user, remove, Vec::new()).await.map(drop)
    }

    /// Gives something another path.
    pub(crate) async fn move_to(
        &self,
        user: Option<&Identity>,
        from: &FilePath,
        to: &FilePath,
    ) -> Result<(), WorkerError> {
        let moved = Move { from: from.into(), to: to.into() };
        self.workers.ask(user, moved, Vec::new()).await.map(drop)
    }

    /// Makes another one of something; of a directory only where all that is in it is to be copied, too.
    pub(crate) async fn copy_to(
        &self,
        user: Option<&Identity>,
        from: &FilePath,
        to: &FilePath,
        recursive: bool,
    ) -> Result<(), WorkerError> {
        let copy = Copy { from: from.into(), to: to.into(), recursive };
        self.workers.ask(user, copy, Vec::new()).await.map(drop)
    }
}
