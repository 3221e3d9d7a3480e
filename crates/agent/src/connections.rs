use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::sleep,
};

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

impl Connections {
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

/// Accepts connections and counts them.
#[derive(Debug)]
pub(crate) struct CountingListener {
    pub(crate) listener: TcpListener,
    pub(crate) connections: Connections,
}

impl Listener for CountingListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Small pieces of output are to go out at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
        let shared = Arc::clone(&self.connections.0);
        shared.open.send_modify(|open| *open += 1);
        (Connection { stream, shared }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that is counted as long as it is open.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
}

impl Connection {
    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(written)) = written {
            self.shared.written.fetch_add(written as u64, Ordering::Relaxed);
        }
        written
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.open.send_modify(|open| *open -= 1);
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
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
