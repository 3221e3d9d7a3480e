use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net,
    },
    sync::Arc,
};

use nix::errno::Errno;
use tokio::{io::Interest, net::UnixStream, runtime::Handle};

use super::error::WorkerError;
use crate::{
    blocking,
    process::FileLimit,
    sandbox::{
        BoxClient, Credentials, ExecKey, NotStarted, Program, StartRequest, Stdio, send_descriptor,
    },
};

/// A worker that runs, or ran. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    socket: UnixStream,
}

/// What became of a conversation that was to begin.
#[derive(Debug)]
pub(super) enum HandOver {
    Done,
    /// The worker is dead, and has seen nothing of it.
    Dead,
    Refused(io::Error),
}

impl Running {
    /// Has the box start one that becomes that user; none is the box's own.
    pub(super) async fn start(
        process_box: Arc<BoxClient>,
        limit: FileLimit,
        credentials: Option<Credentials>,
    ) -> Result<Self, WorkerError> {
        let runtime = Handle::current();
        let started = blocking::transfer(move || {
            let _context = runtime.enter();
            start(&process_box, limit, credentials)
        });
        let socket = started.await.map_err(|error| WorkerError::NotStarted(error.into()))?;
        Ok(Self { socket: socket.map_err(WorkerError::NotStarted)? })
    }

    /// Hands over the other end of a conversation.
    pub(super) async fn hand_over(&self, conversation: &net::UnixStream) -> HandOver {
        let send = || send_descriptor(self.socket.as_fd(), conversation.as_fd());
        match self.socket.async_io(Interest::WRITABLE, send).await {
            Ok(()) => HandOver::Done,
            Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::EPIPE | Errno::ECONNRESET) => HandOver::Dead,
                _ => HandOver::Refused(error),
            },
        }
    }
}

/// It blocks until the worker runs.
fn start(
    process_box: &BoxClient,
    limit: FileLimit,
    credentials: Option<Credentials>,
) -> io::Result<UnixStream> {
    let (socket, theirs) = net::UnixStream::pair()?;
    socket.set_nonblocking(true)?;
    let null = OwnedFd::from(File::options().read(true).write(true).open("/dev/null")?);
    let request = StartRequest {
        key: ExecKey::default(),
        program: Program::Worker,
        cwd: c"/".into(),
        stdio: Stdio::Pipes,
        credentials,
        file_limits: limit.of_workers(),
        contain: false,
        cgroup: false,
    };
    let streams = vec![theirs.into(), null.try_clone()?, null];
    match process_box.start(request, streams, Box::new(|_| ())) {
        Ok(_) => UnixStream::from_std(socket),
        Err(NotStarted::Failed(failure)) => Err(io::Error::from_raw_os_error(failure.errno)),
        Err(NotStarted::NoBox(error)) => Err(error),
        Err(NotStarted::OutcomeUnknown) => {
            Err(io::Error::other("the process that runs the commands has ended meanwhile"))
        }
    }
}
