//! An agent that listens on its standard input and output: as in a container that shares no socket with this machine.

use std::{
    io::{Read, Write},
    os::fd::OwnedFd,
    path::Path,
    process::{Child, Command, Stdio},
};

use axum::http::{Request, StatusCode};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::{
    client::conn::http2::{Builder, SendRequest},
    upgrade::Upgraded,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, join},
    net::unix::pipe,
    task::JoinHandle,
};

use crate::support::{output_of, program, within};

const TOKEN: &str = "token-of-standard-input";
/// More than all buffers on the way hold.
const LARGE: usize = 20_000_000;

/// An agent, and the one HTTP/2 connection to it.
struct Agent {
    process: Child,
    requests: SendRequest<Empty<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
}

fn spawn(directory: &Path, flags: &[&str], stdin: Stdio) -> Child {
    Command::new(program())
        .args(["--listen-stdio", "--admin-token-stdin", "--ephemeral"])
        .arg("--state-dir")
        .arg(directory.join("state"))
        .args(flags)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

impl Agent {
    async fn start(directory: &Path) -> Self {
        let mut process = spawn(directory, &[], Stdio::piped());
        let (mut stdin, mut stdout) =
            (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        writeln!(stdin, "{TOKEN}").unwrap();
        // No byte more: HTTP/2 follows.
        let (mut line, mut byte) = (Vec::new(), [0]);
        while byte != *b"\n" {
            stdout.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        let ready: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(ready["url"], "stdio:");
        let input = pipe::Sender::from_owned_fd(OwnedFd::from(stdin)).unwrap();
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(stdout)).unwrap();
        let io = TokioIo::new(join(output, input));
        // A connection that this client does not read holds up no other of its own.
        let (requests, connection) = Builder::new(TokioExecutor::new())
            .initial_stream_window_size(64 * 1024)
            .initial_connection_window_size((1 << 31) - 1)
            .handshake(io)
            .await
            .unwrap();
        Self { process, requests, connection: tokio::spawn(connection) }
    }

    async fn connect(&mut self) -> Result<TokioIo<Upgraded>, StatusCode> {
        let request = Request::connect("agent:1").body(Empty::new()).unwrap();
        let response = within(self.requests.send_request(request)).await.unwrap();
        match response.status() {
            StatusCode::OK => Ok(TokioIo::new(hyper::upgrade::on(response).await.unwrap())),
            status => Err(status),
        }
    }

    /// Sends a request on a connection of its own.
    async fn send(&mut self, request: &str, token: &str, body: &str) -> TokioIo<Upgraded> {
        let mut connection = self.connect().await.unwrap();
        let length = body.len();
        let message = format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        connection.write_all(message.as_bytes()).await.unwrap();
        connection
    }

    async fn ask(&mut self, request: &str, token: &str, body: &str) -> String {
        read_all(self.send(request, token, body).await).await
    }

    /// Runs a command of the shell; returns its id.
    async fn run(&mut self, script: &str) -> String {
        let body = serde_json::json!({ "command": "sh", "args": ["-c", script] }).to_string();
        let answer = self.ask("POST /api/v1/execs", TOKEN, &body).await;
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        answer.split(r#""id":""#).nth(1).unwrap().split('"').next().unwrap().to_owned()
    }
}

async fn read_all(mut connection: TokioIo<Upgraded>) -> String {
    let mut answer = String::new();
    within(connection.read_to_string(&mut answer)).await.unwrap();
    answer
}

fn output_request(id: &str) -> String {
    format!("GET /api/v1/stream/execs/{id}/io")
}

#[tokio::test]
async fn serves_many_connections_over_standard_input_and_output_until_input_ends() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path()).await;
    for (token, status) in [(TOKEN, "200"), ("wrong", "401")] {
        let answer = agent.ask("GET /api/v1/execs", token, "").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{token}: {answer}");
    }
    let id = agent.run("head -c 3000000 /dev/zero | tr '\\0' x").await;
    let mut outputs = Vec::new();
    for _ in 0..30 {
        outputs.push(agent.send(&output_request(&id), TOKEN, "").await);
    }
    for output in outputs {
        assert!(read_all(output).await.matches('x').count() >= 3_000_000);
    }
    let Agent { process, requests, connection } = agent;
    // It ends with its last handle.
    drop(requests);
    within(connection).await.unwrap().unwrap();
    assert!(output_of(process).status.success());
}

#[tokio::test]
async fn a_connection_that_is_not_read_holds_up_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path()).await;
    let id = agent.run(&format!("head -c {LARGE} /dev/zero | tr '\\0' x")).await;
    let mut unread = Vec::new();
    for _ in 0..30 {
        let mut output = agent.send(&output_request(&id), TOKEN, "").await;
        within(output.read_u8()).await.unwrap();
        unread.push(output);
    }
    let answer = agent.ask("GET /api/v1/execs", TOKEN, "").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let whole = read_all(unread.pop().unwrap()).await;
    assert!(whole.matches('x').count() >= LARGE);
}

#[tokio::test]
async fn passes_the_end_of_each_direction_on_for_itself() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path()).await;
    // The agent ends a connection after the last answer; it does not wait for the client to end it.
    let mut connection = agent.send("GET /health", TOKEN, "").await;
    let mut answer = String::new();
    within(connection.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // The agent sees that a client has ended one.
    let mut connection = agent.connect().await.unwrap();
    within(connection.shutdown()).await.unwrap();
    assert_eq!(within(connection.read(&mut [0])).await.unwrap(), 0);
}

#[tokio::test]
async fn gives_clients_the_whole_output_of_what_a_signal_stops() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = Agent::start(directory.path()).await;
    let script = format!(
        "trap 'head -c {LARGE} /dev/zero | tr \"\\0\" x; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    );
    let id = agent.run(&script).await;
    let mut output = agent.send(&output_request(&id), TOKEN, "").await;
    let mut answer = String::new();
    while !answer.contains("ready") {
        let mut bytes = [0; 1024];
        let count = within(output.read(&mut bytes)).await.unwrap();
        assert_ne!(count, 0, "{answer}");
        answer += &String::from_utf8_lossy(&bytes[..count]);
    }
    let pid = Pid::from_raw(agent.process.id().try_into().unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let rest = read_all(output).await;
    assert!(rest.matches('x').count() >= LARGE, "{}", rest.len());
    assert!(rest.contains(r#""code":3"#) || rest.contains(r#""exitCode":3"#), "{}", rest.len());
    assert!(output_of(agent.process).status.success());
}

#[test]
fn says_that_both_have_to_be_pipes() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    let agent = spawn(directory.path(), &[], std::fs::File::open(token).unwrap().into());
    let output = output_of(agent);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("can't listen on standard input and output: not a pipe"), "{said}");
}
