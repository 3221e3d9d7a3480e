use std::path::PathBuf;

use sandpipe_protocol::FileInfo;

use super::{FilePath, Files, info::file_info};
use crate::{
    process::Identity,
    worker::{Conversation, List, ListBatch, WorkerError},
};

/// The entries of a directory, as they come.
#[derive(Debug)]
pub(crate) struct Listing {
    path: PathBuf,
    conversation: Conversation,
}

impl Files {
    /// Lists what is in a directory, and so far below it: names in the order of their bytes, what is in a directory right behind it.
    ///
    /// # Errors
    /// There is no such directory, it can't be read, or it has too much in it.
    pub(crate) async fn list(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
        depth: u32,
    ) -> Result<Listing, WorkerError> {
        let list = List { path: path.into(), depth };
        let mut conversation = self.workers.open(user, list, Vec::new()).await?;
        conversation.answer::<()>().await?;
        Ok(Listing { path: path.absolute().into(), conversation })
    }
}

impl Listing {
    /// The next of them; none at their end.
    ///
    /// # Errors
    /// The rest can't be had.
    pub(crate) async fn next(&mut self) -> Result<Vec<FileInfo>, WorkerError> {
        let ListBatch(entries) = self.conversation.next().await?;
        let info = |entry: &crate::worker::ListEntry| {
            file_info(&self.path.join(&entry.path), &entry.metadata)
        };
        Ok(entries.iter().map(info).collect())
    }
}
