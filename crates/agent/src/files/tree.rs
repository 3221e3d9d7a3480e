use std::{io, os::fd::OwnedFd, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use super::{FilePath, Files};
use crate::{
    ignore_patterns::IgnorePatterns,
    process::Identity,
    worker::{Conversation, Failure, MakeDirectory, Pack, Unpack, Unpacked, WorkerError},
};

/// How much of a stream is read at once.
const CHUNK: usize = 64 * 1024;
/// How many trees are under way at once: each takes a thread of a worker.
const MAX_TREES: usize = 32;
static TREES: Semaphore = Semaphore::const_new(MAX_TREES);
/// How long one waits for another to end: it may be paused by its client.
const WAIT: Duration = Duration::from_secs(30);

async fn permit() -> Result<SemaphorePermit<'static>, WorkerError> {
    match timeout(WAIT, TREES.acquire()).await {
        Ok(Ok(permit)) => Ok(permit),
        // It is never closed.
        Ok(Err(_)) | Err(_) => Err(WorkerError::TooManyTrees(MAX_TREES)),
    }
}

/// A tree as a tar stream.
#[derive(Debug)]
pub(crate) struct PackedTree {
    conversation: Conversation,
    stream: pipe::Receiver,
    _permit: SemaphorePermit<'static>,
}

impl Files {
    /// Packs a directory, or a file alone.
    ///
    /// # Errors
    /// There is none that the user may read.
    pub(crate) async fn pack(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
        exclude: IgnorePatterns,
    ) -> Result<PackedTree, WorkerError> {
        let permit = permit().await?;
        let pack = Pack { path: path.into(), exclude };
        let mut conversation = self.workers.open(user, pack, Vec::new()).await?;
        conversation.answer::<()>().await?;
        let stream = conversation.take_descriptor().ok_or(WorkerError::Ended)?;
        let stream = pipe::Receiver::from_owned_fd(stream).map_err(WorkerError::NoRoom)?;
        Ok(PackedTree { conversation, stream, _permit: permit })
    }

    /// Unpacks a tar stream into a directory, which is made where it is missing. Where the body breaks, what was unpacked before stays.
    ///
    /// # Errors
    /// The stream can't be unpacked, or the body breaks.
    pub(crate) async fn unpack(
        self: &Arc<Self>,
        user: Option<&Identity>,
        path: &FilePath,
        chunks: impl Stream<Item = io::Result<Bytes>>,
    ) -> Result<Unpacked, UnpackError> {
        let _permit = permit().await?;
        let make = MakeDirectory { path: path.into() };
        self.workers.ask(user, make, Vec::new()).await?;
        let (theirs, ours) = io::pipe().map_err(WorkerError::NoRoom)?;
        let unpack = Unpack { path: path.into(), max_size: self.max_size };
        let mut conversation = self.workers.open(user, unpack, vec![theirs.into()]).await?;
        let ours = OwnedFd::from(ours);
        let mut stream = pipe::Sender::from_owned_fd(ours).map_err(WorkerError::NoRoom)?;
        let mut chunks = std::pin::pin!(chunks);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(UnpackError::Body)?;
            if stream.write_all(&chunk).await.is_err() {
                // It reads no more: its answer says why.
                break;
            }
        }
        drop(stream);
        Ok(conversation.answer().await?)
    }
}

/// Why not all of a tree was unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    #[error(transparent)]
    Body(io::Error),
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

impl PackedTree {
    /// The stream, as it comes. Where not all can be packed it says why itself. The answer ends normally then, so that a slow client still
    /// gets the reason. The tar stream itself is incomplete, so no reader accepts it. Where it can't say why the answer ends with an error.
    pub(crate) fn chunks(self) -> impl Stream<Item = io::Result<Bytes>> {
        stream::unfold(Some(self), async |tree| {
            let mut tree = tree?;
            let mut bytes = BytesMut::with_capacity(CHUNK);
            match tree.stream.read_buf(&mut bytes).await {
                Ok(0) => {}
                Ok(_) => return Some((Ok(bytes.freeze()), Some(tree))),
                Err(error) => return Some((Err(error), None)),
            }
            match tree.conversation.answer::<Option<Failure>>().await {
                Ok(None) => None,
                Ok(Some(error)) => {
                    tracing::info!(%error, "a tree is not packed to its end");
                    None
                }
                Err(error) => {
                    tracing::info!(%error, "a tree is not packed to its end");
                    Some((Err(io::Error::other(error)), None))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_others_too_long_is_refused() {
        let mut held = Vec::new();
        for _ in 0..MAX_TREES {
            held.push(permit().await.unwrap());
        }
        let refused = permit().await.unwrap_err().to_string();
        assert!(refused.starts_with("32 directories are"), "{refused}");
        held.pop();
        assert!(permit().await.is_ok());
    }
}
