use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, watch},
    time::{Sleep, sleep},
};

use super::{exchange::Exchange, refusal::refusal};

/// How long a client may go on sending after the last answer of its connection.
const LINGER: Duration = Duration::from_secs(5);

/// The connections of all clients: how many are open, and whether one of them gets on. A connection
/// that has become a WebSocket, which the HTTP server forgets, counts like another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    open: watch::Sender<usize>,
    /// The bytes that were written to all of them.
    written: AtomicU64,
}

impl Shared {
    fn close_one(&self) {
        self.open.send_modify(|open| *open -= 1);
    }
}

impl Connections {
    /// Counts one more.
    pub(super) fn open(
        &self,
        stream: TcpStream,
        exchange: Exchange,
        slot: OwnedSemaphorePermit,
    ) -> Connection {
        let shared = Arc::clone(&self.0);
        shared.open.send_modify(|open| *open += 1);
        Connection { stream, shared, exchange, refusal: None, lingering: None, _slot: slot }
    }

    /// Waits until none is open; says whether that came true. It gives up when for `patience` no
    /// client has taken anything, and after `most` in any case.
    pub(crate) async fn closed(&self, patience: Duration, most: Duration) -> bool {
        let mut open = self.0.open.subscribe();
        let stalled = async {
            let written = || self.0.written.load(Ordering::Relaxed);
            loop {
                let before = written();
                sleep(patience).await;
                if written() == before {
                    return;
                }
            }
        };
        tokio::select! {
            closed = open.wait_for(|open| *open == 0) => closed.is_ok(),
            () = stalled => false,
            () = sleep(most) => false,
        }
    }
}

/// A connection that is counted as long as it is open.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
    exchange: Exchange,
    /// What is still to be written of the answer to a request that the HTTP server can't read.
    refusal: Option<Vec<u8>>,
    /// Ends the wait for a client that goes on sending. It no longer counts as open then: it has had
    /// all there was for it.
    lingering: Option<Pin<Box<Sleep>>>,
    /// Its place among the connections that there may be. It is kept here since what becomes a
    /// WebSocket takes only the connection along.
    _slot: OwnedSemaphorePermit,
}

impl Connection {
    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(written)) = written {
            self.shared.written.fetch_add(written as u64, Ordering::Relaxed);
        }
        written
    }

    /// Writes a body to an answer that the HTTP server gives by itself. `None` where `bytes` are no
    /// such answer.
    fn poll_refusal(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Option<Poll<io::Result<usize>>> {
        if self.refusal.is_none() && self.exchange.is_none() {
            self.refusal = refusal(bytes);
        }
        let mut rest = self.refusal.take()?;
        while !rest.is_empty() {
            match Pin::new(&mut self.stream).poll_write(context, &rest) {
                Poll::Ready(Ok(written)) => drop(rest.drain(..written)),
                Poll::Ready(Err(error)) => return Some(Poll::Ready(Err(error))),
                Poll::Pending => {
                    self.refusal = Some(rest);
                    return Some(Poll::Pending);
                }
            }
        }
        Some(Poll::Ready(Ok(bytes.len())))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.lingering.is_none() {
            self.shared.close_one();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(refused) = self.poll_refusal(context, bytes) {
            return refused;
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // Such an answer is always in one piece.
        if let [bytes] = parts
            && let Some(refused) = self.poll_refusal(context, bytes)
        {
            return refused;
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.exchange.flushed();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes in stages (RFC 9112, 9.6): says that nothing more will be written, then reads what the
    /// client still sends. If the connection were closed over it, the client's system would throw the
    /// answer away with it.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Connection { stream, shared, lingering, .. } = &mut *self;
        if lingering.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            shared.close_one();
        }
        let lingering = lingering.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        let mut unread = [0; 8192];
        while lingering.as_mut().poll(context).is_pending() {
            let mut unread = ReadBuf::new(&mut unread);
            match ready!(Pin::new(&mut *stream).poll_read(context, &mut unread)) {
                Ok(()) if !unread.filled().is_empty() => {}
                // The client has closed too, or is gone.
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
