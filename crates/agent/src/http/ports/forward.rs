use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension,
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    http::StatusCode,
    response::Response,
};
use bytes::BytesMut;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use sandpipe_protocol::ErrorBody;
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
    time::{interval, timeout},
};

use crate::{
    http::{
        App,
        body::Query,
        error::ApiError,
        execs::responses::{ApiErrors, Failed},
    },
    ports::ConnectError,
    server::Peer,
};

/// How often a ping goes out: proxies close a connection that is silent for long.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// How long the client may take to close its side.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How much is read from the connection at once.
const BUFFER: usize = 64 * 1024;
/// The most bytes of a message that are taken.
const MAX_MESSAGE: usize = 1024 * 1024;
/// The most bytes of the reason in a close frame (RFC 6455, 5.5: 125 with the code).
const MAX_REASON: usize = 123;
/// That a direction is at its end.
const EOF: &str = r#"{"type":"eof"}"#;

/// A text message.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Control {
    Eof,
}

/// Nothing takes the connection
#[derive(utoipa::IntoResponses)]
#[response(status = 502)]
#[allow(dead_code)]
pub(crate) struct Unreachable(ErrorBody);

/// Connect to a port where commands run, by WebSocket: one TCP connection in binary messages.
///
/// The agent connects before it answers. The text message `{"type":"eof"}` is the end of one direction; when both have ended it closes the
/// WebSocket with 1000. Where the connection breaks it does so with 1011 and the reason. A client may leave what comes unread for as long as it
/// likes: the server has to wait then. The token may also be given as the query's
/// `token`; it has to be the one that may do everything.
#[utoipa::path(
    get,
    path = "/ws/v1/ports/{port}",
    operation_id = "forwardPort",
    tag = "ports",
    security(("bearerAuth" = []), ("queryToken" = [])),
    params(
        ("port" = u16, Path, description = "The port", minimum = 1),
        (
            "host" = Option<String>, Query,
            description = "The loopback address that is connected to; by default 127.0.0.1, then ::1"
        ),
    ),
    responses(
        (status = 101, description = "The connection is a WebSocket now"),
        ApiErrors, Failed, Unreachable,
    )
)]
pub(crate) async fn forward_port(
    State(app): State<App>,
    Path(port): Path<String>,
    query: Query,
    peer: Option<Extension<Arc<Peer>>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        ApiError::bad_request(format!("{port:?} is no port: it is a number from 1 to 65535"))
    })?;
    let hosts = loopback(query.get("host"))?;
    let upgrade = upgrade
        .map_err(|rejection| ApiError::new(rejection.status(), rejection.body_text()))?
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE);
    let stream = app.ports.connect(port, hosts).await?;
    let open = |stream: std::net::TcpStream| {
        stream.set_nonblocking(true)?;
        let stream = TcpStream::from_std(stream)?;
        // What comes in small messages is to go on at once.
        stream.set_nodelay(true)?;
        Ok::<_, io::Error>(stream)
    };
    let stream = open(stream).map_err(ApiError::internal)?;
    if let Some(Extension(peer)) = peer {
        peer.may_pause();
    }
    Ok(upgrade.on_upgrade(async move |socket| forward(socket, stream, app.over).await))
}

/// The addresses that are meant by a host. Others than those of the machine itself are not forwarded to.
fn loopback(host: Option<&str>) -> Result<Vec<IpAddr>, ApiError> {
    let host = match host {
        None | Some("localhost") => {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        Some(host) => host,
    };
    match host.parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => Ok(vec![address]),
        _ => Err(ApiError::bad_request(format!(
            "host is {host:?}: it must be a loopback address, as 127.0.0.1 or ::1"
        ))),
    }
}

/// Why nothing more is forwarded.
enum End {
    /// Both directions have ended.
    Both,
    /// The connection has broken.
    Broken(String),
    /// The client has closed the WebSocket, or is gone.
    ClientLeft,
    /// The client has sent what is no message of this.
    Invalid(&'static str),
    AgentStops,
}

/// Forwards what comes on either side, until both are at their end.
async fn forward(socket: WebSocket, mut tcp: TcpStream, mut over: watch::Receiver<bool>) {
    let (mut sink, mut stream) = socket.split();
    let end = {
        let (read, write) = tcp.split();
        // What has become of the client's direction; none while it is open.
        let (sent, has_ended) = watch::channel(None);
        tokio::select! {
            end = send(&mut stream, write, &sent) => end,
            end = receive(&mut sink, read, has_ended) => end,
            _ = over.wait_for(|over| *over) => End::AgentStops,
        }
    };
    if !matches!(end, End::Both) {
        // A server is not to take what it has got for the whole.
        let _refused = tcp.set_zero_linger();
    }
    drop(tcp);
    let (code, reason) = match end {
        End::Both => (close_code::NORMAL, String::new()),
        End::Broken(reason) => (close_code::ERROR, reason),
        End::Invalid(reason) => (close_code::UNSUPPORTED, reason.to_owned()),
        End::AgentStops => (close_code::AWAY, "the agent stops".to_owned()),
        End::ClientLeft => {
            // RFC 6455, 5.5.1: a close frame is answered with one. Reading on sends it.
            let _closed = timeout(CLOSE_TIMEOUT, drain(&mut stream)).await;
            return;
        }
    };
    let reason = reason.get(..reason.floor_char_boundary(MAX_REASON)).unwrap_or_default();
    // RFC 6455, 7.1.1: the server closes the connection after the client's close frame has come.
    let close = async {
        sink.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await?;
        drain(&mut stream).await;
        Ok::<_, axum::Error>(())
    };
    if code == close_code::NORMAL {
        // It may be far behind: what it has not taken yet would be lost with the connection.
        tokio::select! {
            _closed = close => {}
            _ = over.wait_for(|over| *over) => {}
        }
    } else {
        let _closed = timeout(CLOSE_TIMEOUT, close).await;
    }
}

/// Sends what the client's messages have. After the end of its direction it waits for the client to leave.
async fn send(
    stream: &mut SplitStream<WebSocket>,
    mut write: WriteHalf<'_>,
    ended: &watch::Sender<Option<io::Result<()>>>,
) -> End {
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Binary(_) if matches!(&*ended.borrow(), Some(Ok(()))) => {
                return End::Invalid("a message came after the end");
            }
            // The server takes no more. What it has sent before is still read.
            Message::Binary(_) if ended.borrow().is_some() => {}
            Message::Binary(bytes) => {
                if let Err(error) = write.write_all(&bytes).await {
                    ended.send_replace(Some(Err(error)));
                }
            }
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(Control::Eof) if ended.borrow().is_none() => {
                    ended.send_replace(Some(write.shutdown().await));
                }
                Ok(Control::Eof) => {}
                Err(_) => return End::Invalid("a text message is not {\"type\":\"eof\"}"),
            },
            Message::Close(_) => break,
            Message::Ping(_) | Message::Pong(_) => {}
        }
    }
    End::ClientLeft
}

/// Hands what the connection has to the client. After the end of that it waits for the end of the client's direction.
async fn receive(
    sink: &mut SplitSink<WebSocket, Message>,
    mut read: ReadHalf<'_>,
    mut sent: watch::Receiver<Option<io::Result<()>>>,
) -> End {
    let mut ping = interval(PING_INTERVAL);
    let mut buffer = BytesMut::new();
    let mut has_ended = false;
    loop {
        buffer.reserve(BUFFER);
        let message = tokio::select! {
            read = read.read_buf(&mut buffer), if !has_ended => match read {
                Ok(0) => {
                    has_ended = true;
                    Message::Text(EOF.into())
                }
                Ok(_) => Message::Binary(buffer.split().freeze()),
                Err(error) => return End::Broken(error.to_string()),
            },
            ended = sent.wait_for(Option::is_some), if has_ended => {
                return match ended.as_deref() {
                    Ok(Some(Err(error))) => End::Broken(error.to_string()),
                    _ => End::Both,
                };
            }
            _ = ping.tick() => Message::Ping(Vec::new().into()),
        };
        if sink.send(message).await.is_err() {
            return End::ClientLeft;
        }
    }
}

/// Reads to the end of the WebSocket.
async fn drain(stream: &mut SplitStream<WebSocket>) {
    while let Some(Ok(_)) = stream.next().await {}
}

impl From<ConnectError> for ApiError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Worker(error) => error.into(),
            ConnectError::Lost(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_forwarded_to() {
        for (host, addresses) in [
            (None, &["127.0.0.1", "::1"][..]),
            (Some("localhost"), &["127.0.0.1", "::1"]),
            (Some("127.0.0.1"), &["127.0.0.1"]),
            (Some("127.8.9.1"), &["127.8.9.1"]),
            (Some("::1"), &["::1"]),
        ] {
            let found: Vec<_> = loopback(host).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(found, addresses, "{host:?}");
        }
        for host in [
            "",
            "0.0.0.0",
            "::",
            "10.0.0.1",
            "169.254.169.254",
            "::ffff:10.0.0.1",
            "example.com",
            "127.1",
        ] {
            let error = loopback(Some(host)).unwrap_err();
            assert_eq!(error.status(), StatusCode::BAD_REQUEST, "{host}");
        }
    }
}
