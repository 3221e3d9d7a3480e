//! Standard input.

use reqwest::Method;
use serde_json::json;

use crate::support::{Agent, READONLY, until};

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
        assert_eq!(response.json::<serde_json::Value>().await.unwrap()["id"], exec.id.as_str());
        expected += &line;
    }
    assert_eq!(stream.until_output("line 99 \u{20AC}\n").await, expected);
}

#[tokio::test]
async fn input_that_no_process_reads_stalls_its_own_request_only() {
    let agent = std::sync::Arc::new(Agent::start());
    let exec = agent.sh("read go; wc -c").await;
    // More than a pipe holds.
    let large = "x".repeat(1_000_000);
    let stalled = tokio::spawn({
        let (agent, id) = (std::sync::Arc::clone(&agent), exec.id.clone());
        async move { agent.send(&id, "stdin", &large).await.status() }
    });
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
    let agent = std::sync::Arc::new(Agent::start());
    // The reader begins when it is told to, by a file.
    let go = tempfile::NamedTempFile::new().unwrap();
    let script = format!(
        "while [ ! -s {} ]; do sleep 0.01; done; head -c 300005 | tr -s x",
        go.path().display()
    );
    let exec = agent.sh(&script).await;
    let stalled = tokio::spawn({
        let (agent, id) = (std::sync::Arc::clone(&agent), exec.id.clone());
        async move { agent.send(&id, "stdin", &"x".repeat(300_000)).await.status() }
    });
    let pipe = format!("/proc/{}/fd/0", exec.pid);
    until("the pipe is full", async || {
        let pipe = std::fs::File::open(&pipe).unwrap();
        rustix::io::ioctl_fionread(&pipe).unwrap() >= 65_536
    })
    .await;
    stalled.abort();
    let _aborted = stalled.await;
    std::fs::write(go.path(), "go").unwrap();
    assert_eq!(agent.write(&exec.id, "after").await.status(), 200);
    assert_eq!(agent.finish(&exec.id).await.output(), "xafter");
}

#[tokio::test]
async fn input_for_a_process_that_takes_none_is_refused_with_the_reason() {
    let agent = Agent::start();
    let message = async |id: &str| {
        let response = agent.write(id, "x").await;
        assert_eq!(response.status(), 400);
        response.json::<serde_json::Value>().await.unwrap()["message"].as_str().unwrap().to_owned()
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
