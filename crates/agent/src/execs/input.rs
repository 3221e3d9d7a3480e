use std::{io, os::fd::OwnedFd};

use nix::{errno::Errno, unistd::write};
use sandpipe_protocol::{ExecStatus, TerminalSize};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::{mpsc, oneshot},
};

use super::exec::Exec;
use crate::process::watch;

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
    bytes: Vec<u8>,
    written: oneshot::Sender<Result<(), Closed>>,
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
        let input = self.state().input.clone();
        let Some(input) = input else {
            return Err(self.no_input());
        };
        let (written, answer) = oneshot::channel();
        let request = Request { bytes, written };
        // The queue is fair: requests get their places in the order in which they ask.
        if input.requests.send(request).await.is_err() {
            return Err(self.no_input());
        }
        match answer.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Closed)) | Err(_) => Err(self.no_input()),
        }
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
        if !self.launch.pty {
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
            _ if !self.launch.interactive => InputError::NotInteractive(id),
            _ => InputError::Closed(id),
        }
    }
}

impl Input {
    /// Starts to write to `fd`, which is non-blocking. It goes on until the last [`Input`] is dropped
    /// and `ended` is done, whichever is first.
    pub(super) fn open(fd: OwnedFd, ended: impl Future + Send + 'static) -> io::Result<Self> {
        let fd = watch(fd, Interest::WRITABLE)?;
        let (requests, queue) = mpsc::channel(1);
        tokio::spawn(async move {
            tokio::select! {
                _ = ended => {}
                () = serve(fd, queue) => {}
            }
        });
        Ok(Self { requests })
    }
}

async fn serve(fd: AsyncFd<OwnedFd>, mut queue: mpsc::Receiver<Request>) {
    while let Some(request) = queue.recv().await {
        let result = write_all(&fd, &request.bytes).await;
        let closed = result.is_err();
        // The request may have gone away; its bytes are written all the same.
        let _gone = request.written.send(result.map_err(|_| Closed));
        if closed {
            // Dropping the queue answers those that wait in it.
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
