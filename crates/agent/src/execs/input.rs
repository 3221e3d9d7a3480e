use std::{
    fmt, io,
    os::fd::OwnedFd,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use nix::{errno::Errno, unistd::write};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
};

use crate::process::EndOfInput;

/// The most bytes that wait for a process to read them: no request is larger.
pub(super) const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;
/// What each request takes beside its bytes, more or less.
const REQUEST_OVERHEAD: usize = 1024;
/// What a stream takes: what is read of it at a time.
const STREAM_ROOM: usize = 64 * 1024;

/// A process's standard input.
///
/// One task writes to it, so that what is sent first arrives first, and the bytes of a request that
/// goes away stay together. What waits to be written waits here and not with its client: that may take
/// what it has sent whole for delivered, also when it does not stay for the answer.
///
/// A stream has its place as a whole, from when it is queued: what is queued after it waits until it is at its end, or
/// its client keeps it waiting for too long. It is read here, when its turn comes and as the process reads.
#[derive(Clone, Debug)]
pub(super) struct Input {
    requests: mpsc::UnboundedSender<InputRequest>,
    /// The bytes for which there is room.
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct InputRequest {
    input: StdinInput,
    done: oneshot::Sender<Result<(), NotTaken>>,
    _room: Arc<OwnedSemaphorePermit>,
}

/// What standard input gets.
pub(super) enum StdinInput {
    Bytes(Vec<u8>),
    Stream(InputStream),
    End,
}

/// Bytes as they come from a client. An error ends it: there is no more.
pub(super) type InputStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl StdinInput {
    /// The room that it takes.
    fn size(&self) -> u32 {
        let bytes = match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Stream(_) => STREAM_ROOM,
            Self::End => 0,
        };
        u32::try_from(bytes + REQUEST_OVERHEAD).unwrap_or(u32::MAX)
    }
}

impl fmt::Debug for StdinInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(formatter, "{} bytes", bytes.len()),
            Self::Stream(_) => formatter.write_str("a stream"),
            Self::End => formatter.write_str("the end"),
        }
    }
}

/// Input that has its place in the queue: it is written, whether or not anybody waits for that.
#[derive(Debug)]
pub(super) struct PendingInput {
    done: oneshot::Receiver<Result<(), NotTaken>>,
    _room: Arc<OwnedSemaphorePermit>,
}

impl PendingInput {
    /// Waits until the process's pipe or terminal has all of it: as long as the process does not read.
    pub(super) async fn taken(self) -> Result<(), NotTaken> {
        self.done.await.unwrap_or(Err(NotTaken::Closed))
    }
}

/// Why input was not taken, or not to its end.
#[derive(Debug)]
pub(super) enum NotTaken {
    /// Nobody reads standard input any more.
    Closed,
    /// A stream did not come to its end; what came was written.
    Incomplete(io::Error),
}

/// Nobody reads standard input any more.
#[derive(Debug)]
pub(super) struct Closed;

/// Why input has no place in the queue.
#[derive(Debug)]
pub(super) enum NotQueued {
    Full,
    Closed,
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
        let fd = watch(fd)?;
        let (requests, queue) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            tokio::select! {
                _ = ended => {}
                () = serve(fd, queue, &at_end) => {}
            }
        });
        Ok(Self { requests, room: Arc::new(Semaphore::new(MAX_QUEUED_BYTES + REQUEST_OVERHEAD)) })
    }

    /// Gives input its place, after all that was sent before.
    pub(super) fn queue(self, input: StdinInput) -> Result<PendingInput, NotQueued> {
        let room = Arc::clone(&self.room).try_acquire_many_owned(input.size());
        let room = room.map_err(|_| NotQueued::Full)?;
        self.put(input, room).map_err(|Closed| NotQueued::Closed)
    }

    /// The same, but waits for room.
    pub(super) async fn queue_when_there_is_room(
        self,
        input: StdinInput,
    ) -> Result<PendingInput, Closed> {
        let room = Arc::clone(&self.room).acquire_many_owned(input.size()).await;
        self.put(input, room.map_err(|_| Closed)?)
    }

    fn put(self, input: StdinInput, room: OwnedSemaphorePermit) -> Result<PendingInput, Closed> {
        let room = Arc::new(room);
        let (done, answer) = oneshot::channel();
        let request = InputRequest { input, done, _room: Arc::clone(&room) };
        self.requests.send(request).map_err(|_| Closed)?;
        Ok(PendingInput { done: answer, _room: room })
    }
}

/// Lets the runtime watch a descriptor. It needs the runtime's context.
fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor must stay open and the same as long as the runtime watches it. It is
    // owned here, and nothing gives out a mutable reference to it.
    #[allow(unsafe_code)]
    let watched = unsafe { AsyncFd::register_with_interest(fd, Interest::WRITABLE) };
    Ok(watched?)
}

async fn serve(
    fd: AsyncFd<OwnedFd>,
    mut queue: mpsc::UnboundedReceiver<InputRequest>,
    at_end: &AtomicBool,
) {
    let mut end = EndOfInput::default();
    while let Some(InputRequest { input, done, _room }) = queue.recv().await {
        let result = match input {
            StdinInput::Bytes(bytes) => {
                end.follows(&bytes);
                write_all(&fd, &bytes).await.map_err(|_| NotTaken::Closed)
            }
            StdinInput::Stream(stream) => write_stream(&fd, stream, &mut end).await,
            StdinInput::End => {
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
        let closed = matches!(result, Err(NotTaken::Closed));
        // The request may have gone away; its bytes are written all the same.
        let _gone = done.send(result);
        if closed {
            return;
        }
    }
}

/// Writes a stream to its end; it is read no further ahead than one chunk.
async fn write_stream(
    fd: &AsyncFd<OwnedFd>,
    mut stream: InputStream,
    end: &mut EndOfInput,
) -> Result<(), NotTaken> {
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(NotTaken::Incomplete)?;
        end.follows(&chunk);
        write_all(fd, &chunk).await.map_err(|_| NotTaken::Closed)?;
    }
    Ok(())
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
