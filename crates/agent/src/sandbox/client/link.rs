use std::{
    collections::HashMap,
    io,
    os::{fd::OwnedFd, unix},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::net::{Shutdown, shutdown};
use tokio::{net::UnixStream, sync::oneshot};

use super::outbox::Outbox;
use crate::sandbox::protocol::{Decoder, ExecKey, Reached, Report, Request, encode};

/// How much is read of reports at once.
const BUFFER: usize = 16 * 1024;

/// The socket to a box: requests go in, and reports come out.
#[derive(Debug)]
pub(super) struct Link {
    socket: UnixStream,
    outbox: Outbox,
    /// The number of the last request that is answered by it.
    numbers: AtomicU64,
    /// Who waits for the outcome of signals; none when there will be no more.
    signals: Mutex<Option<HashMap<u64, Answer>>>,
}

type Answer = oneshot::Sender<Result<Reached, i32>>;

impl Link {
    /// It needs a runtime.
    pub(super) fn open(socket: unix::net::UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: UnixStream::from_std(socket)?,
            outbox: Outbox::open(),
            numbers: AtomicU64::new(0),
            signals: Mutex::new(Some(HashMap::new())),
        })
    }

    /// Sends a request with descriptors after all before.
    ///
    /// # Errors
    /// With the descriptors, where the box has not got all of it and never will.
    pub(super) fn send(
        &self,
        bytes: Vec<u8>,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(), Vec<OwnedFd>> {
        self.outbox.send(&self.socket, bytes, descriptors)
    }

    /// Sends signals to a command. The receiver gets nothing where the box is dead.
    pub(super) fn signal(
        &self,
        key: ExecKey,
        signals: Vec<i32>,
    ) -> oneshot::Receiver<Result<Reached, i32>> {
        let (answer, outcome) = oneshot::channel();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        match &mut *self.signals() {
            Some(waiting) => drop(waiting.insert(number, answer)),
            None => return outcome,
        }
        // Where that can't be sent it is answered by the end of all.
        if let Ok(bytes) = encode(&Request::Signal { number, key, signals }) {
            let _dead = self.send(bytes, Vec::new());
        }
        outcome
    }

    /// Answers who waits for the outcome of signals.
    pub(super) fn answer(&self, number: u64, outcome: Result<Reached, i32>) {
        let answer = self.signals().as_mut().and_then(|waiting| waiting.remove(&number));
        // Nobody may wait for it any more.
        let _gone = answer.map(|answer| answer.send(outcome));
    }

    /// Sends what could not be sent at once, until it is closed.
    pub(super) async fn run(&self) {
        self.outbox.run(&self.socket).await;
    }

    /// Hands over what the box says, up to its end.
    pub(super) async fn hear(
        &self,
        mut reports: Decoder,
        mut take: impl FnMut(&Report),
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            while let Some(report) = reports.next().map_err(io::Error::other)? {
                take(&report);
            }
            self.socket.readable().await?;
            let count = match self.socket.try_read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            reports.feed(buffer.get(..count).unwrap_or_default());
        }
    }

    /// Nothing is sent any more, and the box is told so.
    pub(super) fn close(&self) {
        self.outbox.close();
        // Where it is closed already the box is dead.
        let _closed = shutdown(&self.socket, Shutdown::Both);
    }

    /// Nobody gets an answer any more.
    pub(super) fn answer_none(&self) {
        *self.signals() = None;
    }

    fn signals(&self) -> MutexGuard<'_, Option<HashMap<u64, Answer>>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
