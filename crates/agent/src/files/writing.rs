use std::{ffi::OsString, fs::File, io::Write, mem, os::unix::fs::FileExt, sync::Arc};

use bytes::Bytes;
use sandpipe_protocol::FileInfo;

use super::{FilePath, Files, append_queue::AppendTurn, info::file_info, transfer};
use crate::{
    process::Identity,
    worker::{
        Append, Commit, Committed, Create, Discard, Failure, FailureKind, Temporary, WorkerError,
        random_name,
    },
};

/// How much is gathered before it is written.
const BATCH: usize = 512 * 1024;

/// What a file is to be like that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// There is to be nothing there yet.
    pub(crate) is_new: bool,
    /// Its permission bits; none for those of the file that it replaces, or the usual ones.
    pub(crate) mode: Option<u32>,
}

/// A file that is being written. Where it is dropped nothing is left of it.
#[derive(Debug)]
pub(crate) struct Writing {
    target: WriteTarget,
    conditions: Conditions,
    file: Arc<File>,
    temporary: Temporary,
    /// Where the next bytes belong.
    offset: u64,
    /// How much of it has been written, from the beginning on.
    length: u64,
    /// What comes right before, and is not written yet.
    pending: Vec<Bytes>,
    pending_len: usize,
}

/// Where a file is written to. Where it is dropped its temporary file is removed, if it may have a name.
#[derive(Debug)]
struct WriteTarget {
    files: Arc<Files>,
    user: Option<Identity>,
    path: FilePath,
    /// That of the temporary file.
    name: OsString,
    may_be_named: bool,
}

/// A file that is appended to.
#[derive(Debug)]
pub(crate) struct Appending {
    files: Arc<Files>,
    path: FilePath,
    file: Arc<File>,
    /// It was not there before.
    pub(crate) is_new: bool,
    _turn: AppendTurn,
}

impl Files {
    /// Begins to write a file that is to take the place of a path.
    ///
    /// # Errors
    /// The user may not, or something else is there.
    pub(crate) async fn write(
        self: &Arc<Self>,
        user: Option<Identity>,
        path: FilePath,
        conditions: Conditions,
    ) -> Result<Writing, WorkerError> {
        let name = random_name().map_err(|errno| WorkerError::NoRoom(errno.into()))?;
        let files = Arc::clone(self);
        // Until it is known: an answer may be lost.
        let mut target = WriteTarget { files, user, path, name, may_be_named: true };
        let (path, name) = ((&target.path).into(), target.name.clone());
        let create = Create { path, is_new: conditions.is_new, name };
        let created = self.workers.ask(target.user.as_ref(), create, Vec::new()).await;
        target.may_be_named =
            matches!(created, Ok((Temporary { is_named: true, .. }, _)) | Err(WorkerError::Ended));
        let (temporary, descriptors) = created?;
        let file = descriptors.into_iter().next().ok_or(WorkerError::Ended)?;
        Ok(Writing {
            target,
            conditions,
            file: Arc::new(file.into()),
            temporary,
            offset: 0,
            length: 0,
            pending: Vec::new(),
            pending_len: 0,
        })
    }

    /// Begins to append to a file, which is made where it is missing, when all who came before have.
    ///
    /// # Errors
    /// The user may not, or something else is there.
    pub(crate) async fn append(
        self: &Arc<Self>,
        user: Option<&Identity>,
        path: FilePath,
        mode: Option<u32>,
    ) -> Result<Appending, WorkerError> {
        let turn = self.appends.turn(&path).await;
        let append = Append { path: (&path).into(), mode };
        let (is_new, descriptors) = self.workers.ask(user, append, Vec::new()).await?;
        let file = descriptors.into_iter().next().ok_or(WorkerError::Ended)?;
        Ok(Appending {
            files: Arc::clone(self),
            path,
            file: Arc::new(file.into()),
            is_new,
            _turn: turn,
        })
    }

    /// Refuses what is larger than the policy has it.
    fn check_size(&self, path: &FilePath, size: u64) -> Result<(), WorkerError> {
        match self.max_size.filter(|max| size > *max) {
            Some(max) => {
                let message = format!(
                    "{} would have more than {max} bytes, which is limits.fileSize of the policy",
                    path.shown()
                );
                Err(Failure::new(FailureKind::TooLarge, message).into())
            }
            None => Ok(()),
        }
    }
}

impl Writing {
    /// Adds bytes. They may be written later.
    ///
    /// # Errors
    /// What came before can't be written, or it is too large.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<(), WorkerError> {
        self.pending_len += bytes.len();
        self.target.files.check_size(&self.target.path, self.offset + self.pending_len as u64)?;
        self.pending.push(bytes);
        if self.pending_len >= BATCH { self.flush().await } else { Ok(()) }
    }

    /// Writes all that was added.
    ///
    /// # Errors
    /// It can't be written, as where the file system is full.
    pub(crate) async fn flush(&mut self) -> Result<(), WorkerError> {
        let pending = mem::take(&mut self.pending);
        let length = mem::take(&mut self.pending_len);
        if length == 0 {
            return Ok(());
        }
        let (file, offset) = (Arc::clone(&self.file), self.offset);
        let written = transfer(move || {
            let mut offset = offset;
            for bytes in pending {
                file.write_all_at(&bytes, offset)?;
                offset += bytes.len() as u64;
            }
            Ok(())
        });
        written.await.map_err(|error| WorkerError::of_io(self.target.path.absolute(), &error))?;
        self.offset += length as u64;
        self.length = self.length.max(self.offset);
        Ok(())
    }

    /// How many bytes have been written, from the beginning on.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Goes on at another place, at most at the end of what has been written.
    pub(super) async fn seek(&mut self, offset: u64) -> Result<(), WorkerError> {
        self.flush().await?;
        self.offset = offset;
        Ok(())
    }

    /// Has it end where it is.
    pub(super) async fn truncate(&mut self) -> Result<(), WorkerError> {
        self.flush().await?;
        let (file, length) = (Arc::clone(&self.file), self.offset);
        let truncated = transfer(move || file.set_len(length)).await;
        truncated.map_err(|error| WorkerError::of_io(self.target.path.absolute(), &error))?;
        self.length = length;
        Ok(())
    }

    /// Appends all of it to another file.
    pub(super) async fn append_to(&self, appending: &Appending) -> Result<(), WorkerError> {
        let mut offset = 0;
        while offset < self.length {
            let file = Arc::clone(&self.file);
            let batch = usize::try_from(self.length - offset).unwrap_or(BATCH).min(BATCH);
            let bytes = transfer(move || {
                let mut bytes = vec![0; batch];
                file.read_exact_at(&mut bytes, offset).map(|()| bytes)
            });
            let bytes = bytes.await;
            let bytes =
                bytes.map_err(|error| WorkerError::of_io(self.target.path.absolute(), &error))?;
            offset += bytes.len() as u64;
            appending.push(bytes.into()).await?;
        }
        Ok(())
    }

    /// Puts it in its place; returns whether nothing was there before.
    ///
    /// # Errors
    /// It can't be, or nobody knows.
    pub(crate) async fn commit(&mut self) -> Result<(bool, FileInfo), WorkerError> {
        self.flush().await?;
        let Conditions { is_new, mode } = self.conditions;
        let temporary = self.temporary.clone();
        let target = &mut self.target;
        let commit = Commit { path: (&target.path).into(), is_new, mode, temporary };
        let file = self.file.try_clone().map_err(WorkerError::NoRoom)?;
        let workers = &target.files.workers;
        let committed = workers.ask(target.user.as_ref(), commit, vec![file.into()]).await;
        match committed {
            Ok((Committed { is_new, metadata }, _)) => {
                target.may_be_named = false;
                Ok((is_new, file_info(target.path.absolute(), &metadata)))
            }
            Err(error) => {
                // While another is replaced it has a name.
                target.may_be_named |= matches!(error, WorkerError::Ended);
                Err(error)
            }
        }
    }
}

impl Drop for WriteTarget {
    fn drop(&mut self) {
        if !self.may_be_named {
            return;
        }
        let (files, user) = (Arc::clone(&self.files), self.user.take());
        let discard = Discard { path: (&self.path).into(), name: mem::take(&mut self.name) };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = files.workers.ask(user.as_ref(), discard, Vec::new()).await {
                    tracing::warn!(%error, "a temporary file may be left");
                }
            });
        }
    }
}

impl Appending {
    /// Appends bytes.
    ///
    /// # Errors
    /// Some of them can't be written.
    pub(crate) async fn push(&self, bytes: Bytes) -> Result<(), WorkerError> {
        let file = Arc::clone(&self.file);
        let max = self.files.max_size;
        let size = transfer(move || {
            let size = if max.is_some() { file.metadata()?.len() } else { 0 };
            let size = size + bytes.len() as u64;
            if max.is_none_or(|max| size <= max) {
                (&*file).write_all(&bytes)?;
            }
            Ok(size)
        });
        let size = size.await.map_err(|error| WorkerError::of_io(self.path.absolute(), &error))?;
        self.files.check_size(&self.path, size)
    }
}
