use std::{
    io::{self, IoSlice},
    os::fd::{AsFd, BorrowedFd},
    pin::Pin,
    task::{Context, Poll},
};

use nix::sys::socket::{setsockopt, sockopt};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// How long a connection may be idle before the system asks the client's whether it is still there; how long
/// between two times that it asks, in seconds; and how often. A client that went away without a word would
/// keep its place for ever.
const KEEPALIVE: (u32, u32, u32) = (60, 30, 10);

/// The bytes to and from one client.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn set_options(&self) -> io::Result<()> {
        let Self::Tcp(stream) = self else {
            return Ok(());
        };
        // Small pieces of output are to go out at once.
        stream.set_nodelay(true)?;
        let (idle, interval, count) = KEEPALIVE;
        setsockopt(stream, sockopt::TcpKeepIdle, &idle)?;
        setsockopt(stream, sockopt::TcpKeepInterval, &interval)?;
        setsockopt(stream, sockopt::TcpKeepCount, &count)?;
        setsockopt(stream, sockopt::KeepAlive, &true)?;
        Ok(())
    }

    /// Has the system throw away what the client does not take, when this is closed. With a Unix domain socket it
    /// does so when the client is gone, and holds no more than the client's own buffer.
    pub(super) fn set_zero_linger(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_zero_linger(),
            Self::Unix(_) => Ok(()),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
