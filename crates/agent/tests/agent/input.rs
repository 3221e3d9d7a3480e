//! Standard input.

use std::{io::ErrorKind, net::SocketAddr, sync::Arc};

use reqwest::{Method, StatusCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandpipe_protocol::ExecItem;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

use crate::support::{ADMIN, Agent, READONLY, message_of, until, within};

#[tokio::test]
async fn input_arrives_in_the_order_in_which_it_was_sent() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "cat", "args": [] })).await;
    let mut stream = agent.stream(&exec.id, "").await;
    let mut expected = String::new();
    for number in 0..100 {
        let line = format!("line {number} \u{20AC}\n");
        let response = agent.write(&exec.id, &line).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.json::<Value>().await.unwrap()["id"], exec.id.as_str());
        expected += &line;
    }
    assert_eq!(stream.until_output("line 99 \u{20AC}\n").await, expected);
}

#[tokio::test]
async fn input_that_no_process_reads_stalls_its_own_request_only() {
    let agent = Arc::new(Agent::start());
    let exec = agent.sh("exec sleep 1000").await;
    // More than a pipe holds.
    let stalled = stalled(&agent, &exec, "x".repeat(1_000_000)).await;
    // Everything else works meanwhile.
    for _ in 0..5 {
        assert_eq!(agent.run("echo fine").await.output(), "fine\n");
        assert_eq!(agent.get(&exec.id).await.exit_code, -1);
    }
    assert!(!stalled.is_finished());
    agent.delete(&exec.id).await;
    // Its end is an answer.
    assert_eq!(stalled.await.unwrap(), 400);
}

#[tokio::test]
async fn bytes_of_a_request_that_goes_away_are_not_torn_apart() {
    let agent = Arc::new(Agent::start());
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "head -c 300005 | tr -s x").await;
    let stalled = stalled(&agent, &exec, "x".repeat(300_000)).await;
    stalled.abort();
    let _aborted = stalled.await;
    std::fs::write(go.path(), "go").unwrap();
    assert_eq!(agent.write(&exec.id, "after").await.status(), 200);
    assert_eq!(agent.finish(&exec.id).await.output(), "xafter");
}

/// An exec of a shell script that goes on when the file has something in it.
pub(crate) async fn waiting_for(agent: &Agent, go: &NamedTempFile, script: &str) -> ExecItem {
    let path = go.path().display();
    agent.sh(&format!("while [ ! -s '{path}' ]; do sleep 0.01; done; {script}")).await
}

/// Sends input for a process that does not read; gives the request when the agent has it whole, and
/// the pipe is full.
async fn stalled(agent: &Arc<Agent>, exec: &ExecItem, input: String) -> JoinHandle<StatusCode> {
    let request = tokio::spawn({
        let (agent, id) = (Arc::clone(agent), exec.id.clone());
        async move { agent.send(&id, "stdin", &input).await.status() }
    });
    until_pipe_is_full(exec).await;
    request
}

pub(crate) async fn until_pipe_is_full(exec: &ExecItem) {
    let pipe = format!("/proc/{}/fd/0", exec.pid);
    until("the pipe is full", async || {
        let pipe = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        let timeout = Some(&Timespec { tv_sec: 0, tv_nsec: 0 });
        poll(&mut [PollFd::new(&pipe, PollFlags::OUT)], timeout).unwrap() == 0
    })
    .await;
}

/// Sends a request on a connection of its own, and waits until the agent has taken all of it; its answer is for who wants it.
async fn send_apart(agent: &Agent, exec: &ExecItem, body: &Value) -> TcpStream {
    let (address, body) = (agent.url.trim_start_matches("http://"), body.to_string());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/v1/execs/{}/io HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {ADMIN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        exec.id,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    until("the agent has read the request", async || unread_by_peer(&stream) == 0).await;
    // It may still be looking at what it has read.
    agent.get(&exec.id).await;
    stream
}

/// The bytes that wait in the socket at the other end of a loopback connection: `rx_queue` of the one
/// that has the same ports the other way about, in `/proc/net/tcp`.
fn unread_by_peer(stream: &TcpStream) -> u64 {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let ends = [stream.peer_addr().unwrap(), stream.local_addr().unwrap()].map(port);
    let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut row = row.filter(|row| row[1].ends_with(&ends[0]) && row[2].ends_with(&ends[1]));
    let queues = row.next().expect("the connection is open")[4];
    u64::from_str_radix(queues.split(':').nth(1).unwrap(), 16).unwrap()
}

#[tokio::test]
async fn what_the_agent_has_is_delivered_in_order_although_nobody_waits_for_the_answers() {
    let agent = Arc::new(Agent::start());
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "tr -s x").await;
    let first = stalled(&agent, &exec, "x".repeat(300_000)).await;
    for text in ["one ", "two ", "three "] {
        drop(send_apart(&agent, &exec, &json!({ "type": "stdin", "input": text })).await);
    }
    drop(send_apart(&agent, &exec, &json!({ "type": "eof", "input": "" })).await);
    first.abort();
    std::fs::write(go.path(), "go").unwrap();
    let finished = within(agent.finish(&exec.id)).await;
    assert_eq!((finished.output(), finished.exit_code()), ("xone two three ".into(), 0));
}

#[tokio::test]
async fn input_that_there_is_no_room_for_is_refused() {
    const MIB: usize = 1 << 20;
    let agent = Arc::new(Agent::start());
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "wc -c").await;
    let first = stalled(&agent, &exec, "x".repeat(15 * MIB)).await;
    let refused = agent.write(&exec.id, &"x".repeat(2 * MIB)).await;
    assert_eq!(refused.status(), 429);
    assert!(message_of(refused).await.contains("16777216 bytes"));
    // What waits takes its room also when its client is gone.
    first.abort();
    let _aborted = first.await;
    agent.get(&exec.id).await;
    assert_eq!(agent.write(&exec.id, &"x".repeat(2 * MIB)).await.status(), 429);
    std::fs::write(go.path(), "go").unwrap();
    until("there is room again", async || agent.write(&exec.id, "after").await.status() == 200)
        .await;
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    let expected = 15 * MIB + "after".len();
    let finished = within(agent.finish(&exec.id)).await;
    assert_eq!(finished.output().trim(), expected.to_string());
}

#[tokio::test]
async fn input_for_a_process_that_takes_none_is_refused_with_the_reason() {
    let agent = Agent::start();
    let message = async |id: &str| {
        let response = agent.write(id, "x").await;
        assert_eq!(response.status(), 400);
        message_of(response).await
    };
    let created = agent.create(json!({ "command": "cat", "args": [], "autostart": false })).await;
    assert!(message(&created.id).await.contains("not been started"));

    let ended = agent.sh("exit 4").await;
    agent.finish(&ended.id).await;
    assert!(message(&ended.id).await.contains("exit code 4"));

    let closed = agent.sh("exec 0<&-; echo closed; exec sleep 60").await;
    agent.stream(&closed.id, "").await.until_output("closed\n").await;
    assert!(message(&closed.id).await.contains("closed its standard input"));
    assert_eq!(agent.get(&closed.id).await.exit_code, -1);

    let request = json!({ "command": "sleep", "args": ["60"], "interactive": false });
    let without = agent.create(request).await;
    assert!(message(&without.id).await.contains("interactive"));
}

#[tokio::test]
async fn without_interactive_input_is_at_its_end() {
    let agent = Agent::start();
    for pty in [false, true] {
        let request = json!({ "command": "cat", "args": [], "interactive": false, "pty": pty });
        let exec = agent.create(request).await;
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 0);
    }
}

#[tokio::test]
async fn a_body_that_is_no_input_is_refused() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "cat", "args": [] })).await;
    for (kind, input) in [("nonsense", ""), ("resize", "{\"cols\":80,\"rows\":24}")] {
        let response = agent.send(&exec.id, kind, input).await;
        assert_eq!(response.status(), 400, "{kind}");
    }
    let path = format!("/api/v1/execs/{}/io", exec.id);
    let body = json!({ "type": "stdin", "input": "x" });
    let request = agent.anonymous(Method::POST, &path).bearer_auth(READONLY).json(&body);
    assert_eq!(request.send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn an_end_comes_after_all_that_was_sent_before() {
    let agent = Arc::new(Agent::start());
    let exec = agent.sh("exec sleep 1000").await;
    // More than a pipe holds, for a process that does not read.
    let large = stalled(&agent, &exec, "x".repeat(1_000_000)).await;
    // The exec is still there when it comes.
    let mut end = send_apart(&agent, &exec, &json!({ "type": "eof", "input": "" })).await;
    let mut status = [0; 12];
    let answered = end.try_read(&mut status).map_err(|error| error.kind());
    assert_eq!((large.is_finished(), answered), (false, Err(ErrorKind::WouldBlock)));
    agent.delete(&exec.id).await;
    assert_eq!(large.await.unwrap(), 400);
    within(end.read_exact(&mut status)).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 400");

    let exec = agent.create(json!({ "command": "sha256sum", "args": [] })).await;
    for _ in 0..20 {
        assert_eq!(agent.write(&exec.id, &"line\n".repeat(10_000)).await.status(), 200);
    }
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    let finished = agent.finish(&exec.id).await;
    assert_eq!(finished.exit_code(), 0);
    let expected = agent.run("yes line | head -n 200000 | sha256sum").await;
    assert_eq!(finished.output(), expected.output());
}

#[tokio::test]
async fn after_the_end_there_is_no_more_input() {
    let agent = Agent::start();
    for pty in [false, true] {
        let script = "cat >/dev/null; echo at the end; exec sleep 300";
        let exec =
            agent.create(json!({ "command": "sh", "args": ["-c", script], "pty": pty })).await;
        for _ in 0..3 {
            assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
        }
        agent.stream(&exec.id, "").await.until_output("at the end").await;
        let response = agent.write(&exec.id, "x").await;
        assert_eq!(response.status(), 400);
        assert!(message_of(response).await.contains("eof"));
        assert_eq!(agent.send(&exec.id, "eof", "more").await.status(), 400);
        assert_eq!(agent.get(&exec.id).await.exit_code, -1);
    }
}

#[tokio::test]
async fn an_end_that_is_repeated_after_the_exit_is_fine_and_a_first_one_is_not() {
    let agent = Agent::start();
    let ended = agent.create(json!({ "command": "cat", "args": [] })).await;
    assert_eq!(agent.send(&ended.id, "eof", "").await.status(), 200);
    agent.finish(&ended.id).await;
    assert_eq!(agent.send(&ended.id, "eof", "").await.status(), 200);
    let other = agent.sh("true").await;
    agent.finish(&other.id).await;
    assert_eq!(agent.send(&other.id, "eof", "").await.status(), 400);
}

#[tokio::test]
async fn a_terminal_reads_the_end_wherever_the_line_is() {
    let agent = Agent::start();
    for input in ["", "whole\n", "whole\r", "begun", "two\nlines begun"] {
        // One end for each reader: the second one waits for more.
        let script = "stty -echo; echo ready; cat; echo first; cat; echo second";
        let exec = agent.sh_in_terminal(script).await;
        let mut stream = agent.stream(&exec.id, "").await;
        stream.until_output("ready").await;
        if !input.is_empty() {
            agent.write(&exec.id, input).await;
        }
        assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
        let output = stream.until_output("first").await;
        let line = input.trim().replace('\n', "\r\n");
        assert!(output.contains(&line), "{input:?}: {output:?}");
        // Neither was there a second end.
        agent.signal_exec(&exec.id, "KILL").await;
        assert!(!agent.finish(&exec.id).await.output().contains("second"), "{input:?}");
    }
}
