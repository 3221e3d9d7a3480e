use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use rustix::io::ioctl_fionread;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

use super::{
    peer::Peer,
    progress::{HEAD_TIMEOUT, Stay, Unsent},
    queued::queued,
    silence::silence,
    stream::Stream,
};

/// A connection that is counted as long as it is open, and that ends when its client keeps it waiting for
/// too long or its place is wanted. What becomes a WebSocket is one too.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    peer: Arc<Peer>,
    /// Wakes it when it is to be asked how long it may stay.
    timer: Pin<Box<Sleep>>,
    /// Nothing more is written. It no longer counts as open then: it has had all there was for it.
    closing: bool,
    /// It has been in its client's hands for too long, or its place is wanted.
    over: bool,
}

impl Connection {
    pub(super) fn new(stream: Stream, peer: Arc<Peer>) -> Self {
        let timer = Box::pin(sleep(HEAD_TIMEOUT));
        Self { stream, peer, timer, closing: false, over: false }
    }

    /// Whether it may stay, where it waits for its client.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Before it is asked: what comes between wakes it.
        self.peer.state.waker.register(context.waker());
        self.spare_if_unread();
        let unsent = |stream: &Stream| Unsent { queued: queued(stream), silence: silence(stream) };
        loop {
            let stay = self.peer.progress().stay(|| unsent(&self.stream), Instant::now());
            match stay {
                Stay::Over => break,
                Stay::Unlimited => return Poll::Pending,
                Stay::Until(end) => {
                    // A later end is seen to when the timer is due.
                    if self.timer.is_elapsed() || end < self.timer.deadline() {
                        self.timer.as_mut().reset(end);
                    }
                }
            }
            ready!(self.timer.as_mut().poll(context));
        }
        self.over = true;
        if self.peer.progress().is_stalled()
            && let Err(error) = self.stream.set_zero_linger()
        {
            // The system would keep what the client does not take.
            tracing::debug!(%error, "a connection can't be reset");
        }
        Poll::Ready(())
    }

    /// Keeps a connection whose place is wanted if its request has come meanwhile: the runtime may have had no
    /// time to see it.
    fn spare_if_unread(&self) {
        let mut progress = self.peer.progress();
        let is_unread = || ioctl_fionread(&self.stream).is_ok_and(|unread| unread > 0);
        if progress.is_evicted() && progress.awaits_request() && is_unread() {
            progress.spare();
            drop(progress);
            self.peer.connections.changed();
        }
    }

    /// Returns what the socket says on a write, once it is seen how far the client is.
    fn poll_written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.peer.progress().written();
                self.peer.connections.count_written(bytes);
                written
            }
            Poll::Ready(Err(_)) => written,
            Poll::Pending => {
                self.peer.progress().blocked(|| queued(&self.stream), Instant::now());
                self.peer.connections.changed();
                ready!(self.poll_over(context));
                Poll::Ready(Err(timed_out()))
            }
        }
    }
}

fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client kept the connection waiting")
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.closing {
            self.peer.connections.close_one();
        }
        self.peer.connections.leave(&self.peer.state);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_pending() {
            self.peer.progress().starved();
            self.peer.connections.changed();
            ready!(self.poll_over(context));
            return Poll::Ready(Err(timed_out()));
        }
        if buffer.filled().len() > before {
            self.peer.progress().received(Instant::now());
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.poll_written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.poll_written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let is_idle = self.peer.progress().flushed(Instant::now());
        if is_idle {
            self.peer.connections.changed();
            // It may be read only when something comes.
            if self.poll_over(context).is_ready() {
                return Poll::Ready(Err(timed_out()));
            }
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes in stages (RFC 9112, 9.6): says that nothing more will be written, then reads what the
    /// client still sends. If the connection were closed over it, the client's system would throw the
    /// answer away with it.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.over {
            return Poll::Ready(Ok(()));
        }
        if !self.closing {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.closing = true;
            self.peer.connections.close_one();
            self.peer.progress().closing(Instant::now());
            self.peer.connections.changed();
        }
        let mut unread = [0; 8192];
        loop {
            let mut unread = ReadBuf::new(&mut unread);
            match Pin::new(&mut self.stream).poll_read(context, &mut unread) {
                // One that goes on sending is not asked otherwise.
                Poll::Ready(Ok(())) if !unread.filled().is_empty() => {
                    if self.poll_over(context).is_ready() {
                        break;
                    }
                }
                // The client has closed too, or is gone.
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(self.poll_over(context));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
