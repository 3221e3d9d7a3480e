use std::{
    collections::VecDeque,
    io, mem,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::RecvFlags,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::sandbox::{Decoder, encode, receive, send};

/// How much is read at once.
const BUFFER: usize = 4096;

/// The worker's end of a conversation. It blocks.
#[derive(Debug)]
pub(crate) struct Peer {
    socket: OwnedFd,
    decoder: Decoder,
    received: VecDeque<OwnedFd>,
    attached: Vec<OwnedFd>,
}

impl Peer {
    pub(super) fn new(socket: OwnedFd) -> Self {
        let decoder = Decoder::default();
        Self { socket, decoder, received: VecDeque::new(), attached: Vec::new() }
    }

    /// The next message.
    ///
    /// # Errors
    /// There is none, or none that makes sense.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        loop {
            if let Some(message) = self.decoder.next().map_err(io::Error::other)? {
                return Ok(message);
            }
            let mut buffer = [0; BUFFER];
            let count = receive(&self.socket, &mut buffer, &mut self.received, RecvFlags::empty())?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.decoder.feed(buffer.get(..count).unwrap_or_default());
        }
    }

    /// The next of the descriptors that came with messages.
    pub(crate) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.received.pop_front()
    }

    /// Hands it over with the next message that is sent.
    pub(crate) fn attach(&mut self, descriptor: OwnedFd) {
        self.attached.push(descriptor);
    }

    /// Takes back what was attached.
    pub(super) fn detach(&mut self) {
        self.attached.clear();
    }

    /// Sends a message. It waits until all of it is taken.
    ///
    /// # Errors
    /// Nobody reads it any more.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let bytes = encode(message).map_err(io::Error::other)?;
        let mut attached = mem::take(&mut self.attached);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let descriptors: Vec<_> = attached.iter().map(AsFd::as_fd).collect();
            match send(&self.socket, rest, &descriptors) {
                Ok(count) => {
                    rest = rest.get(count..).unwrap_or_default();
                    attached.clear();
                }
                Err(Errno::AGAIN) => {
                    let mut polled = [PollFd::new(&self.socket, PollFlags::OUT)];
                    match poll(&mut polled, None) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
