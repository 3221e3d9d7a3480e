use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::io::Errno;
use tokio::{
    io::Interest,
    net::UnixStream,
    sync::Notify,
    time::{Duration, sleep},
};

use crate::sandbox::channel;

/// How soon is sent again what the system has no room for.
const PAUSE: Duration = Duration::from_millis(5);

/// What the box is asked for and has not read yet. Whoever asks sends as much as the socket takes at once; the rest is sent by a task.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: Mutex<Option<VecDeque<Message>>>,
    added: Notify,
}

#[derive(Debug)]
struct Message {
    bytes: Vec<u8>,
    sent: usize,
    /// They go with the first byte.
    descriptors: Vec<OwnedFd>,
}

impl Message {
    /// Sends as much as is taken.
    ///
    /// # Errors
    /// `WouldBlock` where it may go on when the socket can be written to, `QuotaExceeded` when others have been received.
    fn send(&mut self, socket: &UnixStream) -> io::Result<()> {
        while let Some(rest) = self.bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            let descriptors: Vec<_> = match self.sent {
                0 => self.descriptors.iter().map(AsFd::as_fd).collect(),
                _ => Vec::new(),
            };
            self.sent += match channel::send(socket, rest, &descriptors) {
                // Descriptors that are under way are limited (unix(7), ETOOMANYREFS).
                Err(Errno::TOOMANYREFS) => Err(io::Error::from(io::ErrorKind::QuotaExceeded)),
                sent => Ok(sent?),
            }?;
        }
        Ok(())
    }
}

impl Outbox {
    pub(super) fn open() -> Self {
        Self { queue: Mutex::new(Some(VecDeque::new())), added: Notify::new() }
    }

    /// Nothing is taken any more.
    pub(super) fn close(&self) {
        *self.queue() = None;
        self.added.notify_one();
    }

    /// Sends a message after all before.
    ///
    /// # Errors
    /// With the descriptors, where the box has not got all of it and never will.
    pub(super) fn send(
        &self,
        socket: &UnixStream,
        bytes: Vec<u8>,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(), Vec<OwnedFd>> {
        let mut queue = self.queue();
        let Some(queue) = &mut *queue else {
            return Err(descriptors);
        };
        let mut message = Message { bytes, sent: 0, descriptors };
        if queue.is_empty() {
            match message.send(socket).map_err(|error| error.kind()) {
                Ok(()) => return Ok(()),
                Err(io::ErrorKind::WouldBlock | io::ErrorKind::QuotaExceeded) => {}
                Err(_) => return Err(message.descriptors),
            }
        }
        queue.push_back(message);
        self.added.notify_one();
        Ok(())
    }

    /// Sends what could not be sent at once, until it is closed.
    pub(super) async fn run(&self, socket: &UnixStream) {
        loop {
            self.added.notified().await;
            loop {
                let flushed = socket.try_io(Interest::WRITABLE, || self.flush(socket));
                match flushed.map_err(|error| error.kind()) {
                    Ok(()) => break,
                    Err(io::ErrorKind::WouldBlock) => {
                        if socket.writable().await.is_err() {
                            return;
                        }
                    }
                    Err(io::ErrorKind::QuotaExceeded) => sleep(PAUSE).await,
                    Err(_) => return,
                }
            }
        }
    }

    fn flush(&self, socket: &UnixStream) -> io::Result<()> {
        let mut queue = self.queue();
        let Some(queue) = &mut *queue else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        while let Some(message) = queue.front_mut() {
            message.send(socket)?;
            queue.pop_front();
        }
        Ok(())
    }

    fn queue(&self) -> MutexGuard<'_, Option<VecDeque<Message>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
