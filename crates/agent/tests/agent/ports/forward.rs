//! Connections to ports by WebSocket.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest, protocol::frame::coding::CloseCode},
};

use super::listening;
use crate::{
    support::{ADMIN, Agent, READONLY, status_of, until, within},
    walls::{Walled, walls},
};

const EOF: &str = r#"{"type":"eof"}"#;

/// A connection that is forwarded.
struct Forward(WebSocketStream<MaybeTlsStream<TcpStream>>);

#[derive(Debug, PartialEq, Eq)]
enum Received {
    Bytes(Vec<u8>),
    Eof,
    Closed(Option<(CloseCode, String)>),
}

impl Forward {
    /// Opens one; else the status and the message.
    async fn try_open(
        agent: &Agent,
        port: &str,
        query: &str,
        token: &str,
    ) -> Result<Self, (u16, String)> {
        let url = format!("{}/ws/v1/ports/{port}{query}", agent.url.replace("http://", "ws://"));
        let mut request = url.into_client_request().unwrap();
        let token = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert("authorization", token);
        match within(connect_async(request)).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(response)) => {
                let body: serde_json::Value =
                    serde_json::from_slice(response.body().as_deref().unwrap_or_default()).unwrap();
                let status = response.status().as_u16();
                assert_eq!(body["code"], status);
                Err((status, body["message"].as_str().unwrap().to_owned()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn open(agent: &Agent, port: u16) -> Self {
        let opened = Self::try_open(agent, &port.to_string(), "", ADMIN).await;
        opened.unwrap_or_else(|refused| panic!("{refused:?}"))
    }

    async fn send(&mut self, bytes: impl Into<Vec<u8>>) {
        within(self.0.send(Message::binary(bytes.into()))).await.unwrap();
    }

    async fn end(&mut self) {
        within(self.0.send(Message::text(EOF))).await.unwrap();
    }

    async fn next(&mut self) -> Received {
        loop {
            match within(self.0.next()).await {
                Some(Ok(Message::Binary(bytes))) => return Received::Bytes(bytes.into()),
                Some(Ok(Message::Text(text))) => {
                    assert_eq!(text, EOF);
                    return Received::Eof;
                }
                Some(Ok(Message::Close(close))) => {
                    let close = close.map(|close| (close.code, close.reason.to_string()));
                    return Received::Closed(close);
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Received::Closed(None),
            }
        }
    }

    /// All bytes up to the end of what the server sends.
    async fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match self.next().await {
                Received::Bytes(bytes) => all.extend(bytes),
                Received::Eof => return all,
                closed @ Received::Closed(_) => panic!("{closed:?} after {} bytes", all.len()),
            }
        }
    }

    /// Asserts that it is closed with this code.
    async fn is_closed(&mut self, code: CloseCode) -> String {
        match self.next().await {
            Received::Closed(Some((closed, reason))) => {
                assert_eq!(closed, code, "{reason}");
                reason
            }
            other => panic!("{other:?}"),
        }
    }
}

/// What listens in this process, and its port.
async fn server() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

async fn accept(listener: &TcpListener) -> TcpStream {
    within(listener.accept()).await.unwrap().0
}

/// Bytes of which no part is like another.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

#[tokio::test]
async fn each_side_may_end_first() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    // The server answers after the client's end.
    let mut client = Forward::open(&agent, port).await;
    let mut server = accept(&listener).await;
    client.send("question").await;
    client.end().await;
    let mut question = String::new();
    within(server.read_to_string(&mut question)).await.unwrap();
    assert_eq!(question, "question");
    server.write_all(b"answer").await.unwrap();
    drop(server);
    assert_eq!(client.rest().await, b"answer");
    client.is_closed(CloseCode::Normal).await;
    // The client sends after the server's end.
    let mut client = Forward::open(&agent, port).await;
    let mut server = accept(&listener).await;
    server.write_all(b"greeting").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(client.rest().await, b"greeting");
    client.send("late").await;
    client.end().await;
    let mut late = String::new();
    within(server.read_to_string(&mut late)).await.unwrap();
    assert_eq!(late, "late");
    client.is_closed(CloseCode::Normal).await;
}

#[tokio::test]
async fn fifty_megabytes_go_each_way_as_they_are_and_take_no_memory() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    let mut client = Forward::open(&agent, port).await;
    let mut server = accept(&listener).await;
    let memory = || status_of(agent.pid(), "VmRSS").unwrap();
    let before = memory();
    let bytes = noise(50_000_000);
    // Nobody reads what is sent to the server: the client has to wait.
    let mut taken = 0;
    let mut chunks = bytes.chunks(60_000);
    let mut waiting = None;
    for chunk in chunks.by_ref() {
        let sending = client.0.send(Message::binary(chunk.to_vec()));
        if tokio::time::timeout(Duration::from_secs(2), sending).await.is_err() {
            waiting = Some(chunk);
            break;
        }
        taken += chunk.len();
    }
    assert!(waiting.is_some() && taken < 40_000_000, "{taken} bytes were taken that nobody read");
    assert!(memory() < before + 16 * 1024, "{before} {}", memory());
    // An echo.
    let (mut sink, mut stream) = client.0.split();
    let expected = bytes.clone();
    let echo = async move {
        let (mut read, mut write) = server.split();
        tokio::io::copy(&mut read, &mut write).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let send = async move {
        // The message that waited is in the client's buffer.
        for chunk in chunks {
            sink.send(Message::binary(chunk.to_vec())).await.unwrap();
        }
        sink.send(Message::text(EOF)).await.unwrap();
    };
    let receive = async {
        let mut received = Vec::new();
        while let Some(Ok(message)) = stream.next().await {
            match message {
                Message::Binary(bytes) => received.extend_from_slice(&bytes),
                Message::Text(_) => break,
                _ => {}
            }
        }
        received
    };
    let (.., received) = within(async { tokio::join!(echo, send, receive) }).await;
    assert_eq!(received.len(), expected.len());
    assert!(received == expected, "other bytes have come back");
    assert!(memory() < before + 16 * 1024, "{before} {}", memory());
}

#[tokio::test]
async fn a_client_that_does_not_read_makes_the_server_wait() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    let mut client = Forward::open(&agent, port).await;
    let mut server = accept(&listener).await;
    let before = status_of(agent.pid(), "VmRSS").unwrap();
    let bytes = noise(1 << 20);
    let mut taken = 0;
    while let Ok(written) =
        tokio::time::timeout(Duration::from_secs(2), server.write_all(&bytes)).await
    {
        written.unwrap();
        taken += bytes.len();
        assert!(taken < 100 << 20, "the agent takes what nobody reads");
    }
    assert!(status_of(agent.pid(), "VmRSS").unwrap() < before + 16 * 1024);
    drop(server);
    let mut received = 0;
    while let Received::Bytes(bytes) = client.next().await {
        received += bytes.len();
    }
    assert!(received >= taken, "{received} of {taken}");
}

#[tokio::test]
async fn a_hundred_connections_go_at_once() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    tokio::spawn(async move {
        loop {
            let (mut server, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut read, mut write) = server.split();
                tokio::io::copy(&mut read, &mut write).await.unwrap();
                write.shutdown().await.unwrap();
            });
        }
    });
    let mut clients = Vec::new();
    for _ in 0..100 {
        clients.push(Forward::open(&agent, port).await);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!("this is {number}")).await;
    }
    for (number, client) in clients.iter_mut().enumerate() {
        client.end().await;
        assert_eq!(client.rest().await, format!("this is {number}").into_bytes());
        client.is_closed(CloseCode::Normal).await;
    }
}

#[tokio::test]
async fn a_server_that_breaks_the_connection_is_told() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    let mut client = Forward::open(&agent, port).await;
    let mut server = accept(&listener).await;
    server.write_all(b"half of").await.unwrap();
    assert_eq!(client.next().await, Received::Bytes(b"half of".into()));
    server.set_zero_linger().unwrap();
    drop(server);
    let reason = client.is_closed(CloseCode::Error).await;
    assert!(reason.contains("reset"), "{reason}");

    // One that dies with input that it has not read.
    let script = listening("127.0.0.1") + "my $c = $s->accept; print \"in\\n\"; sleep 600;";
    let (id, port) = agent.serve(&script, json!({})).await;
    let mut client = Forward::open(&agent, port).await;
    client.send("input").await;
    agent.stream(&id, "").await.until_output("in").await;
    agent.signal_exec(&id, "SIGKILL").await;
    client.is_closed(CloseCode::Error).await;
}

#[tokio::test]
async fn a_client_that_leaves_breaks_the_connection() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    for ends in [false, true] {
        let mut client = Forward::open(&agent, port).await;
        let mut server = accept(&listener).await;
        client.send("half of").await;
        let mut half = [0; 7];
        within(server.read_exact(&mut half)).await.unwrap();
        if ends {
            within(client.0.close(None)).await.unwrap();
        }
        drop(client);
        // Not an end, by which it could be taken for the whole.
        let broken = within(server.read(&mut half)).await.unwrap_err();
        assert_eq!(broken.kind(), std::io::ErrorKind::ConnectionReset);
    }
    let descriptors = || crate::support::open_files(agent.pid()).len();
    let idle = descriptors();
    let client = Forward::open(&agent, port).await;
    assert!(descriptors() > idle);
    drop(client);
    until("nothing of it is left", async || descriptors() <= idle).await;
}

#[tokio::test]
async fn what_is_refused_is_told_before_the_connection_is_a_websocket() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    drop(listener);
    let open = async |port: &str, query: &str, token: &str| {
        Forward::try_open(&agent, port, query, token).await.err().expect("it is refused")
    };
    let (status, message) = open(&port.to_string(), "", ADMIN).await;
    assert_eq!(status, 502, "{message}");
    assert!(message.contains("127.0.0.1") && message.contains("[::1]"), "{message}");
    assert!(message.contains("refused"), "{message}");
    let (_listener, port) = server().await;
    let port = port.to_string();
    assert_eq!(open(&port, "", READONLY).await.0, 403);
    assert_eq!(open(&port, "", "wrong").await.0, 401);
    for wrong in ["0", "65536", "http", "-1"] {
        assert_eq!(open(wrong, "", ADMIN).await.0, 400, "{wrong}");
    }
    // Only the machine itself.
    for host in ["10.0.0.1", "example.com", "0.0.0.0", "169.254.169.254"] {
        let (status, message) = open(&port, &format!("?host={host}"), ADMIN).await;
        assert_eq!(status, 400);
        assert!(message.contains(host), "{message}");
    }
    assert!(Forward::try_open(&agent, &port, "?host=127.0.0.1", ADMIN).await.is_ok());
    assert_eq!(open(&port, "?host=::1", ADMIN).await.0, 502);
    // By a browser the token can only be given in the query.
    let url = format!("{}/ws/v1/ports/{port}?token={ADMIN}", agent.url.replace("http", "ws"));
    assert!(within(connect_async(url)).await.is_ok());
    let request = agent.request(reqwest::Method::GET, &format!("/ws/v1/ports/{port}"));
    assert_eq!(within(request.send()).await.unwrap().status(), 400);
    let without = Agent::with_args(&["--without", "port-forward"]);
    let refused = Forward::try_open(&without, &port, "", ADMIN).await.err().unwrap();
    assert_eq!(refused.0, 404);
}

#[tokio::test]
async fn what_is_no_message_of_it_ends_it() {
    let agent = Agent::start();
    let (listener, port) = server().await;
    for message in ["", "eof", r#"{"type":"other"}"#] {
        let mut client = Forward::open(&agent, port).await;
        let _server = accept(&listener).await;
        within(client.0.send(Message::text(message))).await.unwrap();
        client.is_closed(CloseCode::Unsupported).await;
    }
    let mut client = Forward::open(&agent, port).await;
    let _server = accept(&listener).await;
    client.end().await;
    client.send("more").await;
    client.is_closed(CloseCode::Unsupported).await;
}

#[tokio::test]
async fn behind_walls_without_a_network_what_listens_there_is_reached() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "offline"]);
    let agent = &walled.agent;
    let script = listening("127.0.0.1")
        + "my $c = $s->accept; print $c 'got: ', join('', <$c>); close $c; <STDIN>;";
    let (_, port) = agent.serve(&script, json!({})).await;
    let mut client = Forward::open(agent, port).await;
    client.send("hello").await;
    client.end().await;
    assert_eq!(client.rest().await, b"got: hello");
    client.is_closed(CloseCode::Normal).await;
    // What listens outside is not.
    let (_outside, port) = server().await;
    let refused = Forward::try_open(agent, &port.to_string(), "", ADMIN).await.err().unwrap();
    assert_eq!(refused.0, 502);
}

#[tokio::test]
async fn an_agent_that_stops_says_so() {
    let mut agent = Agent::start();
    let (listener, port) = server().await;
    let mut client = Forward::open(&agent, port).await;
    let mut server = accept(&listener).await;
    agent.signal(nix::sys::signal::Signal::SIGTERM);
    client.is_closed(CloseCode::Away).await;
    assert!(within(server.read(&mut [0])).await.is_err());
    agent.ended().await;
}
