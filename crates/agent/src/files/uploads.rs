use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sandpipe_protocol::FileInfo;
use tokio::{
    sync::{self, watch},
    time::{Instant, sleep},
};

use super::{
    FilePath, Files,
    writing::{Conditions, Writing},
};
use crate::{
    process::Identity,
    sandbox::Credentials,
    worker::{FailureKind, WorkerError},
};

/// How long an upload may have nothing to do, and how long one is known that is complete.
const IDLE_TIMEOUT: Duration = Duration::from_mins(10);
/// How often it is looked for those.
const LOOK: Duration = Duration::from_mins(1);
/// The most of them at once: each has a file open.
const MAX_UPLOADS: usize = 64;

/// The uploads in pieces that are under way, or were lately.
#[derive(Debug)]
pub(crate) struct Uploads {
    files: Arc<Files>,
    known: Mutex<HashMap<UploadKey, Arc<Upload>>>,
}

/// What an upload is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UploadKey {
    user: Option<Credentials>,
    path: FilePath,
    id: String,
}

/// How an upload is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadOptions {
    pub(crate) conditions: Conditions,
    /// At its completion all of it is appended to the file.
    pub(crate) appends: bool,
}

/// A piece of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it belongs.
    pub(crate) offset: u64,
    /// It is the last one.
    pub(crate) completes: bool,
}

#[derive(Debug)]
struct Upload {
    options: UploadOptions,
    state: sync::Mutex<State>,
    /// Counts the requests: one that comes takes the place of the one before, whose client has given it up.
    requests: watch::Sender<u64>,
    last: Mutex<Instant>,
}

#[derive(Debug)]
enum State {
    Open(Box<Writing>),
    Complete(UploadAnswer),
    /// It can't be gone on with.
    Broken,
}

/// What a piece is answered with.
#[derive(Clone, Debug)]
pub(crate) enum UploadAnswer {
    /// How many bytes there are.
    Progress(u64),
    /// It has taken its place, where there was nothing before or was.
    Complete { is_new: bool, info: FileInfo },
}

/// Why a piece was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    #[error(
        "the piece begins at {offset}, and of the upload there are {length} bytes: go on there"
    )]
    Offset { offset: u64, length: u64 },
    #[error("mode, append and If-None-Match are not those that the upload was begun with")]
    OtherOptions,
    #[error("another request has gone on with the upload")]
    Superseded,
    #[error("there are {MAX_UPLOADS} uploads under way already: complete or delete some")]
    TooMany,
    #[error("the upload has failed, and can't be gone on with: begin another one")]
    Broken,
    #[error(transparent)]
    Body(io::Error),
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

impl UploadKey {
    pub(crate) fn new(user: Option<&Identity>, path: &FilePath, id: &str) -> Self {
        let user = user.and_then(Identity::credentials_to_take);
        Self { user, path: path.clone(), id: id.into() }
    }
}

impl Uploads {
    /// None yet. It needs a runtime.
    pub(crate) fn new(files: Arc<Files>) -> Arc<Self> {
        let uploads = Arc::new(Self { files, known: Mutex::default() });
        tokio::spawn(forget_idle(Arc::downgrade(&uploads)));
        uploads
    }

    /// Writes a piece of an upload, which begins with the first one. What comes of it is kept also where the rest does not come.
    ///
    /// # Errors
    /// It does not follow, or can't be written.
    pub(crate) async fn take(
        &self,
        key: UploadKey,
        user: Option<Identity>,
        path: FilePath,
        options: UploadOptions,
        piece: Piece,
        chunks: impl Stream<Item = io::Result<Bytes>>,
    ) -> Result<UploadAnswer, UploadError> {
        let known = self.get(&key);
        let upload = match known {
            Some(upload) => upload,
            None if piece.offset > 0 => {
                return Err(UploadError::Offset { offset: piece.offset, length: 0 });
            }
            None => {
                let writing =
                    self.files.write(user.clone(), path.clone(), options.conditions).await?;
                self.insert(key.clone(), options, writing)?
            }
        };
        if upload.options != options {
            return Err(UploadError::OtherOptions);
        }
        let mut superseded = upload.begin();
        let mut state = upload.state.lock().await;
        upload.touch();
        let writing = match &mut *state {
            State::Open(writing) => writing,
            State::Broken => return Err(UploadError::Broken),
            State::Complete(answer) if piece.completes => return Ok(answer.clone()),
            State::Complete(UploadAnswer::Complete { info, .. }) => {
                return Ok(UploadAnswer::Progress(info.size));
            }
            State::Complete(answer) => return Ok(answer.clone()),
        };
        let length = writing.length();
        if piece.offset > length {
            return Err(UploadError::Offset { offset: piece.offset, length });
        }
        writing.seek(piece.offset).await?;
        let taken = upload.write(writing, &mut superseded, chunks).await;
        // Also of one that broke: it is gone on with from there.
        writing.flush().await?;
        taken?;
        if !piece.completes {
            return Ok(UploadAnswer::Progress(writing.length()));
        }
        writing.truncate().await?;
        if options.appends {
            return self.complete_append(&mut state, user, path, options).await;
        }
        let committed = writing.commit().await;
        match committed {
            Ok((is_new, info)) => {
                let answer = UploadAnswer::Complete { is_new, info };
                *state = State::Complete(answer.clone());
                Ok(answer)
            }
            Err(error) => {
                // Another try may put it there; where something is there already none does.
                if matches!(&error, WorkerError::Failed(failure) if failure.kind == FailureKind::Exists)
                {
                    *state = State::Broken;
                    self.remove(&key);
                }
                Err(error.into())
            }
        }
    }

    /// Appends all of an upload, once: what fails in the middle of it is not tried again.
    async fn complete_append(
        &self,
        state: &mut State,
        user: Option<Identity>,
        path: FilePath,
        options: UploadOptions,
    ) -> Result<UploadAnswer, UploadError> {
        let appending =
            self.files.append(user.as_ref(), path.clone(), options.conditions.mode).await?;
        let State::Open(writing) = std::mem::replace(state, State::Broken) else {
            return Err(UploadError::Broken);
        };
        writing.append_to(&appending).await?;
        let info = self.files.stat(user.as_ref(), &path).await?;
        let answer = UploadAnswer::Complete { is_new: appending.is_new, info };
        *state = State::Complete(answer.clone());
        Ok(answer)
    }

    /// Gives up an upload; returns whether there was one.
    pub(crate) fn give_up(&self, key: &UploadKey) -> bool {
        self.remove(key).is_some()
    }

    fn get(&self, key: &UploadKey) -> Option<Arc<Upload>> {
        self.uploads().get(key).map(Arc::clone)
    }

    /// Adds one, unless it was added meanwhile.
    fn insert(
        &self,
        key: UploadKey,
        options: UploadOptions,
        writing: Writing,
    ) -> Result<Arc<Upload>, UploadError> {
        let mut uploads = self.uploads();
        if let Some(upload) = uploads.get(&key) {
            return Ok(Arc::clone(upload));
        }
        let open = uploads.values().filter(|upload| !upload.is_complete());
        if open.count() >= MAX_UPLOADS {
            return Err(UploadError::TooMany);
        }
        let upload = Arc::new(Upload {
            options,
            state: sync::Mutex::new(State::Open(Box::new(writing))),
            requests: watch::Sender::new(0),
            last: Mutex::new(Instant::now()),
        });
        uploads.insert(key, Arc::clone(&upload));
        Ok(upload)
    }

    fn remove(&self, key: &UploadKey) -> Option<Arc<Upload>> {
        let removed = self.uploads().remove(key);
        // What is being written to it ends.
        removed.inspect(|upload| drop(upload.begin()))
    }

    fn uploads(&self) -> MutexGuard<'_, HashMap<UploadKey, Arc<Upload>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets uploads that nobody goes on with, as long as there is an agent.
async fn forget_idle(uploads: Weak<Uploads>) {
    loop {
        sleep(LOOK).await;
        let Some(uploads) = uploads.upgrade() else { return };
        uploads.uploads().retain(|_, upload| {
            upload.state.try_lock().is_err() || upload.last().elapsed() < IDLE_TIMEOUT
        });
    }
}

impl Upload {
    /// Begins a request, which ends the one before; returns what says that another has begun.
    fn begin(&self) -> watch::Receiver<u64> {
        self.requests.send_modify(|count| *count += 1);
        self.requests.subscribe()
    }

    /// Takes the bytes of a piece as they come.
    async fn write(
        &self,
        writing: &mut Writing,
        superseded: &mut watch::Receiver<u64>,
        chunks: impl Stream<Item = io::Result<Bytes>>,
    ) -> Result<(), UploadError> {
        let mut chunks = std::pin::pin!(chunks);
        loop {
            let chunk = tokio::select! {
                chunk = chunks.next() => chunk,
                _ = superseded.changed() => return Err(UploadError::Superseded),
            };
            let Some(chunk) = chunk else { return Ok(()) };
            writing.push(chunk.map_err(UploadError::Body)?).await?;
            self.touch();
        }
    }

    fn is_complete(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| matches!(*state, State::Complete(_)))
    }

    fn touch(&self) {
        *self.last() = Instant::now();
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
