use std::{io, os::fd::BorrowedFd};

use rustix::io::Errno;

use crate::sandbox::{
    channel,
    protocol::{Report, encode},
};

/// What the agent is told and has not read yet.
#[derive(Debug, Default)]
pub(super) struct Outbox(Vec<u8>);

impl Outbox {
    pub(super) fn push(&mut self, report: &Report) -> io::Result<()> {
        self.0.extend(encode(report).map_err(io::Error::other)?);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends what the socket takes now.
    ///
    /// # Errors
    /// The agent is gone.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while !self.0.is_empty() {
            match channel::send(socket, &self.0, &[]) {
                Ok(count) => drop(self.0.drain(..count)),
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
