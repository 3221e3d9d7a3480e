//! Standard input as the raw body of a request.

use std::{io, iter, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::{Body, Method, Response, StatusCode};
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
    task::JoinHandle,
};

use crate::{
    input::{until_pipe_is_full, waiting_for},
    support::{ADMIN, Agent, Events, message_of, status_of, within},
};

const MIB: usize = 1 << 20;

async fn write(agent: &Agent, id: &str, body: impl Into<Body>) -> Response {
    let request = agent.request(Method::POST, &format!("/api/v1/execs/{id}/io"));
    let request = request.header("Content-Type", "application/octet-stream").body(body);
    request.send().await.unwrap()
}

/// What sha256sum says of this.
fn sha256<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    parts.for_each(|part| hash.update(part));
    let digits: Vec<_> = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}  -\n", digits.concat())
}

type Parts = mpsc::Sender<io::Result<Bytes>>;

/// Begins to send a body of unknown length; its parts are what is given to the sender.
fn begin(agent: &Arc<Agent>, id: &str) -> (Parts, JoinHandle<Result<StatusCode, reqwest::Error>>) {
    let (parts, mut body) = mpsc::channel(1);
    let body = stream::poll_fn(move |context| body.poll_recv(context));
    let path = format!("/api/v1/execs/{id}/io");
    let request = agent.request(Method::POST, &path);
    let request = request.header("Content-Type", "application/octet-stream");
    let request = request.body(Body::wrap_stream(body)).send();
    (parts, tokio::spawn(async move { Ok(request.await?.status()) }))
}

/// A `cat`, its output, and a body for it that goes on: of this much of it is read.
async fn cat_of(
    agent: &Arc<Agent>,
    first: &'static str,
) -> (String, Events, Parts, JoinHandle<Result<StatusCode, reqwest::Error>>) {
    let exec = agent.create(json!({ "command": "cat", "args": [] })).await;
    let mut output = agent.stream(&exec.id, "").await;
    let (parts, sent) = begin(agent, &exec.id);
    parts.send(Ok(first.into())).await.unwrap();
    output.until_output(first).await;
    (exec.id, output, parts, sent)
}

#[tokio::test]
async fn bytes_of_every_value_arrive_as_they_are_and_no_limit_of_json_counts() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "sha256sum", "args": [] })).await;
    let bytes: Vec<u8> = (0..=255).cycle().take(40 * MIB).collect();
    assert_eq!(within(write(&agent, &exec.id, bytes.clone())).await.status(), 200);
    assert_eq!(write(&agent, &exec.id, "").await.status(), 200);
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    let expected = sha256(iter::once(&bytes[..]));
    assert_eq!(agent.finish(&exec.id).await.output(), expected);
}

#[tokio::test]
async fn a_process_that_does_not_read_keeps_a_body_with_its_client() {
    let agent = Agent::start();
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "sha256sum").await;
    agent.run("true").await;
    let before = status_of(agent.pid(), "VmRSS").unwrap();
    let part = Bytes::from(vec![b'x'; MIB]);
    let parts = stream::iter(0..200).map(move |_| Ok::<_, io::Error>(part.clone()));
    let sending = write(&agent, &exec.id, Body::wrap_stream(parts));
    let reading = async {
        until_pipe_is_full(&exec).await;
        std::fs::write(go.path(), "go").unwrap();
    };
    assert_eq!(within(async { tokio::join!(sending, reading) }).await.0.status(), 200);
    let grown = status_of(agent.pid(), "VmHWM").unwrap().saturating_sub(before);
    assert!(grown < 8 * 1024, "the agent's memory grew by {grown} KiB");
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    let expected = sha256(iter::repeat_n(&vec![b'x'; MIB][..], 200));
    assert_eq!(agent.finish(&exec.id).await.output(), expected);
}

#[tokio::test]
async fn what_is_sent_while_a_body_comes_follows_all_of_it() {
    let agent = Arc::new(Agent::start());
    let (id, mut output, parts, sent) = cat_of(&agent, "one ").await;
    let others = tokio::spawn({
        let (agent, id) = (Arc::clone(&agent), id.clone());
        async move {
            let bytes = write(&agent, &id, "three ").await.status();
            (bytes, agent.send(&id, "eof", "").await.status())
        }
    });
    // It is not in its place before the agent has answered another request.
    agent.get(&id).await;
    parts.send(Ok("two ".into())).await.unwrap();
    output.until_output("two ").await;
    assert!(!others.is_finished());
    drop(parts);
    assert_eq!(within(sent).await.unwrap().unwrap(), 200);
    assert_eq!(within(others).await.unwrap(), (StatusCode::OK, StatusCode::OK));
    assert_eq!(agent.finish(&id).await.output(), "one two three ");
}

#[tokio::test]
async fn of_a_body_that_breaks_off_is_written_what_came() {
    let agent = Arc::new(Agent::start());
    let (id, _, parts, sent) = cat_of(&agent, "came ").await;
    parts.send(Err(io::Error::other("the client breaks off"))).await.unwrap();
    assert!(within(sent).await.unwrap().is_err());
    assert_eq!(within(write(&agent, &id, "next")).await.status(), 200);
    assert_eq!(agent.send(&id, "eof", "").await.status(), 200);
    assert_eq!(agent.finish(&id).await.output(), "came next");
}

/// Reads an answer of a known length; returns its status and its body.
async fn answer(stream: &mut TcpStream) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within(stream.read_u8()).await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    within(stream.read_exact(&mut body)).await.unwrap();
    (head.get(9..12).unwrap().to_owned(), String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn whose_body_breaks_off_is_not_told_that_the_process_reads_no_more() {
    let agent = Agent::start();
    let address = agent.url.trim_start_matches("http://");
    let exec = agent.create(json!({ "command": "cat", "args": [] })).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/v1/execs/{}/io HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        exec.id
    );
    // What no size of a chunk is.
    stream.write_all(format!("{head}5\r\ncame \r\nx\r\n").as_bytes()).await.unwrap();
    let (status, body) = answer(&mut stream).await;
    assert_eq!(status, "408");
    assert!(body.contains("what came before has been written to the process"), "{body}");
    agent.delete(&exec.id).await;
}

#[tokio::test]
async fn a_process_that_reads_no_more_is_told_at_once_and_the_connection_goes_on() {
    let agent = Agent::start();
    let address = agent.url.trim_start_matches("http://");
    for (script, reason) in [
        ("head -c 1 >/dev/null", ""),
        ("head -c 1 >/dev/null; exec <&-; exec sleep 1000", "closed its standard input"),
    ] {
        let exec = agent.sh(script).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = |method, path: &str, more: &str| {
            format!(
                "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {ADMIN}\r\n{more}\r\n"
            )
        };
        let length = 4 * MIB;
        let more =
            format!("Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n");
        let io = head("POST", &format!("/api/v1/execs/{}/io", exec.id), &more);
        stream.write_all(io.as_bytes()).await.unwrap();
        // More than the pipe holds.
        stream.write_all(&vec![0; length / 2]).await.unwrap();
        let (status, body) = answer(&mut stream).await;
        assert_eq!(status, "400");
        assert!(body.contains(reason), "{body}");
        // A client may see that only when it has sent everything.
        stream.write_all(&vec![0; length / 2]).await.unwrap();
        stream.write_all(head("GET", "/health", "").as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.0, "200");
        agent.delete(&exec.id).await;
    }
}

#[tokio::test]
async fn bytes_for_a_process_that_takes_none_are_refused_with_the_reason() {
    let agent = Agent::start();
    let created = agent.create(json!({ "command": "cat", "args": [], "autostart": false })).await;
    let refused = write(&agent, &created.id, vec![0; 2 * MIB]).await;
    assert_eq!(refused.status(), 400);
    assert!(message_of(refused).await.contains("not been started"));
    let old = Agent::with_args(&["--without", "stdin-bytes"]);
    let exec = old.create(json!({ "command": "cat", "args": [] })).await;
    assert_eq!(write(&old, &exec.id, "x").await.status(), 415);
    assert_eq!(agent.request(Method::GET, "/health").send().await.unwrap().status(), 200);
}
