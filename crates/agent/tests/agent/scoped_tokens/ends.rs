//! What becomes of what is open when a token ends.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::stream;
use reqwest::{Body, Method};
use sandpipe_protocol::websocket::AgentFrame;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::super::{
    files::{Space, names, route},
    slow_clients::ask_with,
    support::{Agent, descendants_of, lives, needs_root, until, within},
    websocket::Socket,
};

#[tokio::test]
async fn streams_break_and_websockets_close_when_their_token_is_revoked() {
    let agent = Agent::start();
    let exec = agent.sh("echo up; while read x; do echo got $x; done").await;
    let scoped = agent.scoped(json!({ "typeInto": [exec.id] })).await;
    let keeps = agent.scoped(json!({ "typeInto": [exec.id] })).await;
    let mut streams = Vec::new();
    for path in [format!("/api/v1/stream/execs/{}/io", exec.id), "/api/v1/stream/execs".into()] {
        let mut stream = scoped.get(&path).await;
        within(stream.chunk()).await.unwrap().unwrap();
        streams.push(stream);
    }
    let query = format!("?token={}", scoped.token);
    let mut socket = Socket::open(&agent, &exec.id, &query).await;
    let mut other = Socket::open(&agent, &exec.id, &format!("?token={}", keeps.token)).await;
    socket.input("before\n").await;
    socket.until_output("got before\n").await;
    scoped.revoke().await;
    // What is typed from now on does not arrive.
    let typed = async {
        for _ in 0..100 {
            socket.input("after\n").await;
        }
        loop {
            match socket.next().await {
                Ok(AgentFrame::Output { .. }) => {}
                end => return end,
            }
        }
    };
    assert_eq!(typed.await, Err(Some(CloseCode::Policy)));
    for mut stream in streams {
        // It must not look like an end.
        let end = async {
            while stream.chunk().await?.is_some() {}
            Ok::<_, reqwest::Error>(())
        };
        within(end).await.unwrap_err();
    }
    assert_eq!(scoped.status(&format!("/api/v1/execs/{}", exec.id)).await, 401);
    // Those of another token, and the command, go on.
    other.input("still\n").await;
    let output = other.until_output("got still\n").await;
    assert!(!output.contains("after"), "{output}");
    assert!(lives(exec.pid));
}

#[tokio::test]
async fn what_is_open_ends_when_the_token_expires() {
    let agent = Agent::start();
    let exec = agent.sh("echo up; read x").await;
    let begin = Instant::now();
    let request = json!({ "expiresInMs": 1500, "typeInto": [exec.id] });
    let made: Value = agent.ask_for_token(request).await.json().await.unwrap();
    let token = made["token"].as_str().unwrap();
    let get = |path: String| agent.anonymous(Method::GET, &path).bearer_auth(token).send();
    let mut stream = within(get(format!("/api/v1/stream/execs/{}/io", exec.id))).await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut socket = Socket::open(&agent, &exec.id, &format!("?token={token}")).await;
    socket.until_output("up\n").await;
    assert_eq!(socket.next().await, Err(Some(CloseCode::Policy)));
    let end = async {
        while stream.chunk().await?.is_some() {}
        Ok::<_, reqwest::Error>(())
    };
    within(end).await.unwrap_err();
    assert!(begin.elapsed() >= Duration::from_millis(1500));
    assert_eq!(within(get("/api/v1/execs".into())).await.unwrap().status(), 401);
    assert!(lives(exec.pid));
}

#[tokio::test]
async fn a_stream_that_nobody_reads_ends_with_its_token() {
    if !needs_root("see what a worker reads") {
        return;
    }
    let space = Space::start();
    let agent = &space.agent;
    let large = space.path("large");
    // More than the buffers of the system hold.
    File::create(&large).unwrap().set_len(50_000_000).unwrap();
    let scoped = agent.scoped(json!({ "readFiles": "." })).await;
    let _stream = ask_with(agent, &scoped.token, &route("trees", ""), "").await;
    let read = || positions_in(&large, &descendants_of(agent.pid()));
    let mut seen = Vec::new();
    until("the buffers are full", async || {
        seen.push(read());
        seen.iter()
            .rev()
            .take_while(|then| !then.is_empty() && **then == seen[seen.len() - 1])
            .count()
            > 20
    })
    .await;
    scoped.revoke().await;
    until("the agent reads its file no more", async || read().is_empty()).await;
}

/// Where processes that have a file open read it.
fn positions_in(file: &Path, pids: &BTreeSet<u32>) -> Vec<String> {
    let mut positions = Vec::new();
    for pid in pids {
        let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for entry in open.flatten() {
            let is_file = fs::read_link(entry.path()).is_ok_and(|path| path == file);
            let info = format!("/proc/{pid}/fdinfo/{}", entry.file_name().display());
            positions.extend(fs::read_to_string(info).ok().filter(|_| is_file));
        }
    }
    positions
}

/// A body that is sent piece by piece.
fn body() -> (mpsc::Sender<&'static str>, Body) {
    let (sender, receiver) = mpsc::channel(1);
    let pieces = stream::unfold(receiver, async |mut receiver| {
        let piece: &str = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(Bytes::from(piece)), receiver))
    });
    (sender, Body::wrap_stream(pieces))
}

#[tokio::test]
async fn what_is_being_sent_ends_with_its_token() {
    let space = Space::start();
    let agent = &space.agent;
    fs::create_dir(space.path("dir")).unwrap();
    let exec = agent.sh("while read x; do echo got $x; done").await;
    let what = json!({ "typeInto": [exec.id], "writeFiles": "dir" });
    for (method, path) in [
        (Method::POST, format!("/api/v1/execs/{}/io", exec.id)),
        (Method::PUT, route("files", "dir/file")),
        (Method::PUT, route("files", "dir/upload") + "?upload=one&complete=true"),
    ] {
        let scoped = agent.scoped(what.clone()).await;
        let (pieces, body) = body();
        let request =
            scoped.request(method, &path).header("content-type", "application/octet-stream");
        let sending = tokio::spawn(request.body(body).send());
        pieces.send("before\n").await.unwrap();
        if path.contains("/execs/") {
            until("it has come", async || !agent.output_now(&exec.id, "").await.is_empty()).await;
        }
        scoped.revoke().await;
        let answer = within(sending).await.unwrap();
        // The connection may be closed before all of the body is sent.
        assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() == 401), "{path}");
        let _ended = pieces.send("after\n").await;
    }
    assert_eq!(names(&space.path("dir")), [] as [&str; 0]);
    agent.write(&exec.id, "last\n").await;
    until("the last line has come", async || {
        let output: String =
            agent.output_now(&exec.id, "").await.into_iter().map(|event| event.output).collect();
        assert!(!output.contains("after"), "{output}");
        output.contains("got last")
    })
    .await;
}
