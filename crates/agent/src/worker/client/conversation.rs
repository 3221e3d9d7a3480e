use std::{
    collections::VecDeque,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net,
    },
};

use rustix::net::RecvFlags;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{io::Interest, net::UnixStream};

use super::{activity::Use, error::WorkerError};
use crate::{
    sandbox::{Decoder, encode, receive, send},
    worker::failure::Failure,
};

/// How much is read at once.
const BUFFER: usize = 16 * 1024;

/// The agent's end of a conversation with a worker. When it is dropped, the worker sees its end.
#[derive(Debug)]
pub(crate) struct Conversation {
    socket: UnixStream,
    decoder: Decoder,
    received: VecDeque<OwnedFd>,
    _using: Use,
}

impl Conversation {
    pub(super) fn open(socket: net::UnixStream, using: Use) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let socket = UnixStream::from_std(socket)?;
        Ok(Self { socket, decoder: Decoder::default(), received: VecDeque::new(), _using: using })
    }

    /// Sends a message, with descriptors.
    pub(crate) async fn send(
        &self,
        message: &impl Serialize,
        mut descriptors: Vec<OwnedFd>,
    ) -> Result<(), WorkerError> {
        let bytes =
            encode(message).map_err(|error| WorkerError::NoRoom(io::Error::other(error)))?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let send = || {
                let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
                Ok(send(&self.socket, rest, &borrowed)?)
            };
            let count = self.socket.async_io(Interest::WRITABLE, send).await.map_err(ended)?;
            descriptors.clear();
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// The next answer.
    pub(crate) async fn answer<T: DeserializeOwned>(&mut self) -> Result<T, WorkerError> {
        Ok(self.next::<Result<T, Failure>>().await??)
    }

    /// The next message.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<T, WorkerError> {
        loop {
            let message = self.decoder.next();
            if let Some(message) = message.map_err(|error| ended(io::Error::other(error)))? {
                return Ok(message);
            }
            // The buffer is no part of the future.
            let receive = || {
                let mut buffer = [0; BUFFER];
                let count =
                    receive(&self.socket, &mut buffer, &mut self.received, RecvFlags::DONTWAIT)?;
                self.decoder.feed(buffer.get(..count).unwrap_or_default());
                Ok(count)
            };
            if self.socket.async_io(Interest::READABLE, receive).await.map_err(ended)? == 0 {
                return Err(WorkerError::Ended);
            }
        }
    }

    /// The next of the descriptors that came with answers.
    pub(crate) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.received.pop_front()
    }

    /// The descriptors that came with answers.
    pub(crate) fn into_descriptors(self) -> Vec<OwnedFd> {
        self.received.into()
    }
}

fn ended(error: io::Error) -> WorkerError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => WorkerError::Ended,
        // As where a descriptor was lost for which there was no room.
        _ => WorkerError::NoRoom(error),
    }
}
