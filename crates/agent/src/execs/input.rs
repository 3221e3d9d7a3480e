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
    sync::{mpsc, oneshot},
};

use super::exec::Exec;
use crate::process::{EndOfInput, watch};

/// A process's standard input.
///
/// One task writes to it, so that what is sent first arrives first, and the bytes of a request that
/// goes away half way stay together. At most one request's bytes wait here besides those that are
/// being written: the others wait with their requests.
#[derive(Clone, Debug)]
pub(super) struct Input {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
struct Request {
    what: What,
    done: oneshot::Sender<Result<(), Closed>>,
}

#[derive(Debug)]
enum What {
    Bytes(Vec<u8>),
    End,
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
    #[error("exec {0} was running when the agent ended, and was stopped with it")]
    Lost(String),
    #[error("the standard input of exec {0} has been ended by an \"eof\"")]
    AtEnd(String),
    #[error("exec {0} has no terminal: create it with \"pty\": true to resize it")]
    NoTerminal(String),
    #[error("{0:?} is no terminal size: it is like {{\"cols\":80,\"rows\":24}}, both at least 1")]
    Size(String),
    #[error("the terminal of exec {id} can't be resized: {error}")]
    Resize { id: String, error: io::Error },
}

impl Exec {
    /// Writes to standard input; done when the process's pipe or terminal has all of it.
    ///
    /// It waits as long as the process does not read.
    pub(crate) async fn write(&self, bytes: Vec<u8>) -> Result<(), InputError> {
        self.ask_input(What::Bytes(bytes)).await.map_err(|Closed| self.no_input())
    }

    /// Ends standard input after all that was sent before. To end it once more changes nothing.
    pub(crate) async fn end_input(&self) -> Result<(), InputError> {
        match self.ask_input(What::End).await {
            Err(Closed) if !self.input_ended.load(Ordering::Acquire) => Err(self.no_input()),
            _ => Ok(()),
        }
    }

    async fn ask_input(&self, what: What) -> Result<(), Closed> {
        let input = self.state().input.clone().ok_or(Closed)?;
        let (done, answer) = oneshot::channel();
        // The queue is fair: requests get their places in the order in which they ask.
        input.requests.send(Request { what, done }).await.map_err(|_| Closed)?;
        answer.await.unwrap_or(Err(Closed))
    }

    /// Sets the size of the terminal; `size` is the JSON of a [`TerminalSize`].
    pub(crate) fn resize_as(&self, size: &str) -> Result<(), InputError> {
        let size = serde_json::from_str(size).map_err(|_| InputError::Size(size.into()))?;
        self.resize(size)
    }

    /// Sets the size of the terminal.
    pub(crate) fn resize(&self, size: TerminalSize) -> Result<(), InputError> {
        if size.cols == 0 || size.rows == 0 {
            let size = format!("{{\"cols\":{},\"rows\":{}}}", size.cols, size.rows);
            return Err(InputError::Size(size));
        }
        if !self.description.pty {
            return Err(InputError::NoTerminal(self.id.clone()));
        }
        let terminal = self.state().terminal.clone();
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
        let (requests, queue) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::select! {
                _ = ended => {}
                () = serve(fd, queue, &at_end) => {}
            }
        });
        Ok(Self { requests })
    }
}

async fn serve(fd: AsyncFd<OwnedFd>, mut queue: mpsc::Receiver<Request>, at_end: &AtomicBool) {
    let mut end = EndOfInput::default();
    while let Some(Request { what, done }) = queue.recv().await {
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
