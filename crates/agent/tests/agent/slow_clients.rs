//! Authenticated clients that read slowly, or not at all.

use std::{
    fs::File,
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    task::JoinHandle,
    time::sleep,
};

use crate::support::{ADMIN, Agent, until, within};

/// How long a client may read nothing of what is there for it: shorter than the agent has it by default, and longer than a busy machine
/// keeps the one waiting that reads.
const STALL: Duration = Duration::from_secs(6);

/// Asks for this with the admin token.
async fn ask(agent: &Agent, path: &str, more: &str) -> TcpStream {
    ask_with(agent, ADMIN, path, more).await
}

/// Asks for this with a token.
pub(crate) async fn ask_with(agent: &Agent, token: &str, path: &str, more: &str) -> TcpStream {
    let address: SocketAddr = agent.url.trim_start_matches("http://").parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    // So that what it reads is seen soon.
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Waits until the agent has cut a connection off, without reading what comes; says how long that took. It counts from before the
/// request: the agent counts from when the socket is full, whenever the test gets to wait.
async fn cut_off((start, stream): (Instant, TcpStream)) -> Duration {
    until("it is cut off", async || stream.take_error().unwrap().is_some()).await;
    start.elapsed()
}

#[tokio::test]
async fn a_client_that_reads_at_all_keeps_its_stream_and_one_that_reads_nothing_loses_it() {
    let agent = Agent::with_limit("stall-timeout=6s");
    let (port, sent) = sends(50_000_000).await;
    // More than the system's buffers hold, and one that says nothing.
    let loud = agent.sh("head -c 50000000 /dev/zero | tr '\\0' x; sleep 1000").await;
    let silent = agent.sh("sleep 1000").await;
    let output = format!("/api/v1/stream/execs/{}/io", loud.id);
    let mut slow = ask(&agent, &output, "").await;
    let stalled = (Instant::now(), ask(&agent, &output, "").await);
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let websocket =
        (Instant::now(), ask(&agent, &format!("/ws/v1/execs/{}", loud.id), upgrade).await);
    let mut forward = ask(&agent, &format!("/ws/v1/ports/{port}"), upgrade).await;
    let directory = tempfile::tempdir().unwrap();
    // A hole of the file, which takes no room on the disk, is in the stream as zeros.
    File::create(directory.path().join("large")).unwrap().set_len(50_000_000).unwrap();
    let file = format!("/api/v1/files/{}/large", directory.path().display());
    let download =
        (Instant::now(), ask(&agent, &file, "Accept: application/octet-stream\r\n").await);
    let path = format!("/api/v1/trees/{}", directory.path().display());
    let mut tree = ask(&agent, &path, "Connection: close\r\n").await;
    let quiet = ask(&agent, &format!("/api/v1/stream/execs/{}/io", silent.id), "").await;

    let reading = async {
        let start = Instant::now();
        let mut some = vec![0; 4096];
        // A fraction of what the agent's own socket holds, in all.
        while start.elapsed() < STALL * 2 {
            within(slow.read_exact(&mut some)).await.unwrap();
            sleep(STALL / 30).await;
        }
        within(slow.read_exact(&mut some)).await.unwrap();
    };
    let (stalled, websocket, download, ()) =
        tokio::join!(cut_off(stalled), cut_off(websocket), cut_off(download), reading);
    for lasted in [stalled, websocket, download] {
        assert!(lasted >= STALL, "{lasted:?}");
    }
    assert!(quiet.take_error().unwrap().is_none(), "nothing waited for it");
    quiet.try_write(b"x").unwrap();

    // What is forwarded can't be asked for again: it waits for its client, and goes on where it was.
    assert!(!sent.is_finished(), "it was taken by nobody");
    let mut received = vec![0; 50_000_000];
    within(forward.read_exact(&mut received)).await.unwrap();
    within(sent).await.unwrap();
    let mut received = Vec::new();
    within(tree.read_to_end(&mut received)).await.unwrap();
    let text = String::from_utf8_lossy(&received[received.len() - 5..]);
    // The last chunk, which a stream that is cut off lacks (RFC 9112, 7.1).
    assert_eq!(text, "0\r\n\r\n");
    assert!(received.len() > 50_000_000, "{}", received.len());
}

/// A server that sends so many bytes to the first that connects: its port, and what ends when it has sent them.
async fn sends(bytes: usize) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let sending = async move {
        let (mut client, _) = listener.accept().await.unwrap();
        client.write_all(&vec![b'x'; bytes]).await.unwrap();
    };
    (port, tokio::spawn(sending))
}
