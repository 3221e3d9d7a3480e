use std::{
    convert::Infallible,
    io,
    os::fd::AsFd,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    Request, Response, body::Incoming, server::conn::http2, service::service_fn, upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncWrite, copy_bidirectional, join},
    net::{UnixStream, unix::pipe},
    sync::{mpsc, watch},
};

use super::{connections::Connections, listen::Listener, serve::is_true};

/// Number of bytes of one connection that are taken before the agent reads them.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all connections together: the most that HTTP/2 has (RFC 9113, 6.9.1), so that one that is
/// not read holds up no other.
const ALL_STREAMS_WINDOW: u32 = (1 << 31) - 1;
/// Number of connections that there may be at once, those that wait for a place included.
const MAX_STREAMS: u32 = 16_384;

/// Carrier of connections over standard input and output, for clients that reach the agent in no other
/// way. Each is a stream of one HTTP/2 connection, which a CONNECT request opens (RFC 9113, 8.5).
#[derive(Debug)]
pub(crate) struct Carrier {
    input: pipe::Receiver,
    output: pipe::Sender,
    accepted: mpsc::Sender<UnixStream>,
}

/// Takes standard input and output for connections. They begin with [`Carrier::carry`].
///
/// # Errors
/// One of them is no pipe.
pub(crate) fn listen_on_stdio() -> io::Result<(Listener, Carrier)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    // One that is accepted has its place first.
    let (accepted, connections) = mpsc::channel(1);
    let carrier = Carrier {
        input: pipe::Receiver::from_owned_fd(input)?,
        output: pipe::Sender::from_owned_fd(output)?,
        accepted,
    };
    Ok((Listener::Stdio(connections), carrier))
}

impl Carrier {
    /// Carries connections until standard input ends. When `closing` comes true it takes no more, and ends
    /// with the last one.
    pub(crate) async fn carry(self, connections: Connections, mut closing: watch::Receiver<bool>) {
        let Self { input, output, accepted } = self;
        let output = Output { pipe: output, connections: connections.clone() };
        let service = service_fn(move |request| answer(request, accepted.clone()));
        let carried = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(ALL_STREAMS_WINDOW)
            .max_concurrent_streams(MAX_STREAMS)
            // Its client is trusted: one that gives up many connections at once is not cut off.
            .max_pending_accept_reset_streams(usize::MAX)
            .max_local_error_reset_streams(None)
            .serve_connection(TokioIo::new(join(input, output)), service);
        let mut carried = pin!(carried);
        connections.open_one();
        let ended = tokio::select! {
            ended = carried.as_mut() => ended,
            () = is_true(&mut closing) => {
                carried.as_mut().graceful_shutdown();
                carried.await
            }
        };
        connections.close_one();
        if let Err(error) = ended {
            tracing::debug!(%error, "the connections over standard input and output were cut");
        }
    }
}

/// Opens a connection for a client that asks for one.
async fn answer(
    mut request: Request<Incoming>,
    accepted: mpsc::Sender<UnixStream>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    if request.method() != Method::CONNECT {
        return Ok(refusal(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(place) = accepted.reserve_owned().await else {
        return Ok(refusal(StatusCode::SERVICE_UNAVAILABLE));
    };
    match UnixStream::pair() {
        Ok((client, agent)) => {
            place.send(agent);
            tokio::spawn(pass(hyper::upgrade::on(&mut request), client));
            Ok(Response::default())
        }
        Err(error) => {
            tracing::warn!(%error, "a connection can't be accepted");
            Ok(refusal(StatusCode::SERVICE_UNAVAILABLE))
        }
    }
}

fn refusal(status: StatusCode) -> Response<Empty<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

/// Passes the bytes of a connection on, both ways.
async fn pass(stream: OnUpgrade, mut client: UnixStream) {
    let passed = async {
        let stream = stream.await.map_err(io::Error::other)?;
        copy_bidirectional(&mut TokioIo::new(stream), &mut client).await
    };
    if let Err(error) = passed.await {
        tracing::debug!(%error, "a connection over standard input and output was cut");
    }
}

/// Standard output, whose bytes count as written to clients.
#[derive(Debug)]
struct Output {
    pipe: pipe::Sender,
    connections: Connections,
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.pipe).poll_write(context, bytes))?;
        self.connections.count_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}
