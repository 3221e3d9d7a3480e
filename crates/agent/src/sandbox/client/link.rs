use std::{
    io,
    os::{fd::OwnedFd, unix},
};

use rustix::net::{Shutdown, shutdown};
use tokio::{net::UnixStream, sync::oneshot};

use super::{outbox::Outbox, waiting::Waiting};
use crate::sandbox::protocol::{Decoder, ExecKey, Reached, Report, Request, encode};

/// How much is read of reports at once.
const BUFFER: usize = 16 * 1024;

/// The socket to a box: requests go in, and reports come out.
#[derive(Debug)]
pub(super) struct Link {
    socket: UnixStream,
    outbox: Outbox,
    signals: Waiting<Result<Reached, i32>>,
    finds: Waiting<Vec<Option<ExecKey>>>,
}

impl Link {
    /// It needs a runtime.
    pub(super) fn open(socket: unix::net::UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: UnixStream::from_std(socket)?,
            outbox: Outbox::open(),
            signals: Waiting::default(),
            finds: Waiting::default(),
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
        self.ask(&self.signals, |number| Request::Signal { number, key, signals })
    }

    /// Asks to which commands these processes belong, each by its id and its start. The receiver gets nothing where the box is dead.
    pub(super) fn find(
        &self,
        processes: Vec<(i32, u64)>,
    ) -> oneshot::Receiver<Vec<Option<ExecKey>>> {
        self.ask(&self.finds, |number| Request::Find { number, processes })
    }

    fn ask<T>(
        &self,
        waiting: &Waiting<T>,
        request: impl FnOnce(u64) -> Request,
    ) -> oneshot::Receiver<T> {
        let (number, outcome) = waiting.add();
        // Where that can't be sent it is answered by the end of all.
        if let Some(number) = number
            && let Ok(bytes) = encode(&request(number))
        {
            let _dead = self.send(bytes, Vec::new());
        }
        outcome
    }

    /// Answers who waits for the outcome of signals.
    pub(super) fn signalled(&self, number: u64, outcome: Result<Reached, i32>) {
        self.signals.answer(number, outcome);
    }

    /// Answers who waits to hear to which commands processes belong.
    pub(super) fn found(&self, number: u64, keys: Vec<Option<ExecKey>>) {
        self.finds.answer(number, keys);
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
        self.signals.answer_none();
        self.finds.answer_none();
    }
}
