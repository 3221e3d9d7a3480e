use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nix::{errno::Errno, unistd::write};
use sandpipe_protocol::{ExecStatus, TerminalSize};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
};

use super::exec::Exec;
use crate::process::{EndOfInput, watch};

/// The most bytes that wait for a process to read them: no request is larger.
const MOST_WAITING: usize = 16 * 1024 * 1024;
/// What each request takes beside its bytes, more or less.
const REQUEST: usize = 1024;

/// A process's standard input.
///
/// One task writes to it, so that what is sent first arrives first, and the bytes of a request that
/// goes away stay together. What waits to be written waits here and not with its client: that may take
/// what it has sent whole for delivered, also when it does not stay for the answer.
#[derive(Clone, Debug)]
pub(super) struct Input {
    requests: mpsc::UnboundedSender<Request>,
    /// The bytes for which there is room.
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Request {
    what: What,
    done: oneshot::Sender<Result<(), Closed>>,
    _room: Arc<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum What {
    Bytes(Vec<u8>),
    End,
}

impl What {
    /// The room that it takes.
    fn size(&self) -> u32 {
        let bytes = match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::End => 0,
        };
        u32::try_from(bytes + REQUEST).unwrap_or(u32::MAX)
    }
}

/// Input that has its place: it is written, whether or not anybody waits for that.
#[derive(Debug)]
#[must_use]
pub(crate) struct Queued {
    exec: Arc<Exec>,
    done: oneshot::Receiver<Result<(), Closed>>,
    _room: Arc<OwnedSemaphorePermit>,
}

impl Queued {
    /// Waits until the process's pipe or terminal has all of it: as long as the process does not read.
    pub(crate) async fn taken(self) -> Result<(), InputError> {
        match self.done.await {
            Ok(Ok(())) => Ok(()),
            _ => Err(self.exec.no_input()),
        }
    }
}

/// Nobody reads standard input any more.
#[derive(Debug)]
struct Closed;

/// Why input did not reach a process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("exec {0} has not been started: start it before sending input")]
    NotStarted(String),
    #[error("exec {id} has ended with exit code {exit_code}: it takes no input")]
    Ended { id: String, exit_code: i32 },
    #[error(
        "the standard input of exec {0} was not left open: create it with \"interactive\": true"
    )]
    NotInteractive(String),
    #[error("exec {0} has closed its standard input")]
    Closed(String),
    #[error("exec {0} was stopped when the agent lost sight of it: it takes no input")]
    Lost(String),
    #[error("the standard input of exec {0} has been ended by an \"eof\"")]
    AtEnd(String),
    #[error(
        "exec {0} reads too slowly: {MOST_WAITING} bytes of input may wait for it, and this is more; \
         send it again when what was sent before has been taken"
    )]
    Full(String),
    #[error("exec {0} has no terminal: create it with \"pty\": true to resize it")]
    NoTerminal(String),
    #[error("{0:?} is no terminal size: it is like {{\"cols\":80,\"rows\":24}}, both at least 1")]
    Size(String),
    #[error("the terminal of exec {id} can't be resized: {error}")]
    Resize { id: String, error: io::Error },
}

impl Exec {
    /// Gives bytes for standard input their place, after all that was sent before. Where there is no
    /// room for them they are refused.
    pub(crate) fn write(self: &Arc<Self>, bytes: Vec<u8>) -> Result<Queued, InputError> {
        self.queue_input(What::Bytes(bytes))
    }

    /// The same, but waits for room.
    pub(crate) async fn write_when_there_is_room(
        self: &Arc<Self>,
        bytes: Vec<u8>,
    ) -> Result<Queued, InputError> {
        let what = What::Bytes(bytes);
        let Input { requests, room } = self.input()?;
        let room = room.acquire_many_owned(what.size()).await;
        self.put(&requests, what, room.map_err(|_| self.no_input())?)
    }

    /// Ends standard input after all that was sent before. To end it once more changes nothing.
    pub(crate) async fn end_input(self: &Arc<Self>) -> Result<(), InputError> {
        let ended = match self.queue_input(What::End) {
            Ok(queued) => queued.taken().await,
            Err(error) => Err(error),
        };
        match ended {
            Err(error @ InputError::Full(_)) => Err(error),
            Err(_) if self.input_ended.load(Ordering::Acquire) => Ok(()),
            ended => ended,
        }
    }

    fn queue_input(self: &Arc<Self>, what: What) -> Result<Queued, InputError> {
        let Input { requests, room } = self.input()?;
        let room = room.try_acquire_many_owned(what.size());
        self.put(&requests, what, room.map_err(|_| InputError::Full(self.id.clone()))?)
    }

    fn input(&self) -> Result<Input, InputError> {
        let input = self.state().input.clone();
        input.ok_or_else(|| self.no_input())
    }

    fn put(
        self: &Arc<Self>,
        requests: &mpsc::UnboundedSender<Request>,
        what: What,
        room: OwnedSemaphorePermit,
    ) -> Result<Queued, InputError> {
        let room = Arc::new(room);
        let (done, answer) = oneshot::channel();
        let request = Request { what, done, _room: Arc::clone(&room) };
        requests.send(request).map_err(|_| self.no_input())?;
        Ok(Queued { exec: Arc::clone(self), done: answer, _room: room })
    }

    /// Sets the size of the terminal; `size` is the JSON of a [`TerminalSize`].
    pub(crate) fn resize_as(&self, size: &str) -> Result<(), InputError> {
        let size = serde_json::from_str(size).map_err(|_| InputError::Size(size.into()))?;
        self.resize(size)
    }

    /// Sets the size of the terminal; before the start, the size that the process finds.
    pub(crate) fn resize(&self, size: TerminalSize) -> Result<(), InputError> {
        if size.cols == 0 || size.rows == 0 {
            let size = format!("{{\"cols\":{},\"rows\":{}}}", size.cols, size.rows);
            return Err(InputError::Size(size));
        }
        if !self.description.pty {
            return Err(InputError::NoTerminal(self.id.clone()));
        }
        let mut state = self.state();
        if state.status == ExecStatus::Created {
            state.size = Some(size);
            return Ok(());
        }
        let terminal = state.terminal.clone();
        drop(state);
        let Some(terminal) = terminal else {
            return Err(self.no_input());
        };
        terminal.resize(size).map_err(|error| InputError::Resize { id: self.id.clone(), error })
    }

    /// Why there is no input to write to.
    fn no_input(&self) -> InputError {
        let state = self.state();
        let id = self.id.clone();
        match (state.status.clone(), state.exit_code) {
            (ExecStatus::Created, _) => InputError::NotStarted(id),
            (_, Some(exit_code)) => InputError::Ended { id, exit_code },
            (ExecStatus::Stopped, None) => InputError::Lost(id),
            _ if !self.description.interactive => InputError::NotInteractive(id),
            _ if self.input_ended.load(Ordering::Acquire) => InputError::AtEnd(id),
            _ => InputError::Closed(id),
        }
    }
}

impl Input {
    /// Starts to write to `fd`, which is non-blocking. It goes on until the last [`Input`] is dropped
    /// and `ended` is done, whichever is first.
    /// `at_end` becomes true when a client has ended it.
    pub(super) fn open(
        fd: OwnedFd,
        ended: impl Future + Send + 'static,
        at_end: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let fd = watch(fd, Interest::WRITABLE)?;
        let (requests, queue) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            tokio::select! {
                _ = ended => {}
                () = serve(fd, queue, &at_end) => {}
            }
        });
        Ok(Self { requests, room: Arc::new(Semaphore::new(MOST_WAITING + REQUEST)) })
    }
}

async fn serve(
    fd: AsyncFd<OwnedFd>,
    mut queue: mpsc::UnboundedReceiver<Request>,
    at_end: &AtomicBool,
) {
    let mut end = EndOfInput::default();
    while let Some(Request { what, done, _room }) = queue.recv().await {
        let result = match what {
            What::Bytes(bytes) => {
                end.follows(&bytes);
                write_all(&fd, &bytes).await
            }
            What::End => {
                // A process that reads no more is at the end all the same.
                let _closed = write_all(&fd, &end.bytes_for(fd.get_ref())).await;
                at_end.store(true, Ordering::Release);
                // Dropping the descriptor closes a pipe, and dropping the queue answers those that
                // wait in it.
                drop((fd, queue));
                let _gone = done.send(Ok(()));
                return;
            }
        };
        let closed = result.is_err();
        // The request may have gone away; its bytes are written all the same.
        let _gone = done.send(result.map_err(|_| Closed));
        if closed {
            return;
        }
    }
}

/// Writes all of it. The runtime of Rust ignores SIGPIPE, so a closed pipe is an error here.
async fn write_all(fd: &AsyncFd<OwnedFd>, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut guard = fd.writable().await.map_err(|_| Errno::EIO)?;
        match write(fd.get_ref(), rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::EAGAIN) => guard.clear_ready(),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
