//! Readers: any number, from anywhere, at any pace.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Agent, Events, status_of, until, within};

#[tokio::test]
async fn readers_at_any_time_see_the_same_events() {
    let agent = std::sync::Arc::new(Agent::start());
    let exec = agent.sh("read x; seq 1 20000; echo e >&2; exit 2").await;
    let early: Vec<_> = (0..8)
        .map(|_| {
            let (agent, id) = (std::sync::Arc::clone(&agent), exec.id.clone());
            tokio::spawn(async move { agent.finish(&id).await })
        })
        .collect();
    agent.write(&exec.id, "go\n").await;
    let late = agent.finish(&exec.id).await;
    assert_eq!(late.exit_code(), 2);
    for reader in early {
        assert_eq!(reader.await.unwrap().0, late.0);
    }
    assert_eq!(agent.finish(&exec.id).await.0, late.0);
    assert_eq!(agent.output_now(&exec.id, "").await, late.0);
}

#[tokio::test]
async fn a_reader_can_go_on_after_any_event() {
    let agent = Agent::start();
    let exec = agent.sh("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done").await;
    let all = agent.finish(&exec.id).await.0;
    for after in 0..=all.len() {
        let query = format!("?lastSequence={after}");
        let rest = agent.output_now(&exec.id, &query).await;
        assert_eq!(rest, all[after..], "after {after}");
        let mut stream = agent.stream(&exec.id, &query).await;
        for expected in &all[after..] {
            assert_eq!(stream.next_output().await.as_ref(), Some(expected));
        }
        assert_eq!(stream.next_output().await, None);
    }
    for count in 0..=all.len() + 2 {
        let rest = agent.output_now(&exec.id, &format!("?lastSequence=-{count}")).await;
        let expected = if count == 0 { 0 } else { all.len().saturating_sub(count) };
        assert_eq!(rest, all[expected..], "the last {count}");
    }
    assert_eq!(agent.output_now(&exec.id, "?lastSequence=1000").await, []);
}

#[tokio::test]
async fn a_reader_far_into_a_long_output_starts_at_its_event() {
    let agent = Agent::start();
    let exec = agent.sh("head -c 5000000 /dev/zero | tr '\\0' x").await;
    let all = agent.finish(&exec.id).await.0;
    for after in (0..all.len()).step_by(17) {
        let mut stream = agent.stream(&exec.id, &format!("?lastSequence={after}")).await;
        assert_eq!(stream.next_output().await.as_ref(), Some(&all[after]));
    }
}

#[tokio::test]
async fn a_snapshot_of_a_running_exec_ends_where_its_output_is() {
    let agent = Agent::start();
    let exec = agent.sh("echo one; read x; echo two").await;
    agent.stream(&exec.id, "").await.until_output("one\n").await;
    let now = agent.output_now(&exec.id, "").await;
    assert_eq!(now.len(), 1);
    assert_eq!((now[0].output.as_str(), now[0].exit_code), ("one\n", None));
    // The last one that exists now, and what follows.
    let mut stream = agent.stream(&exec.id, "?lastSequence=-1").await;
    assert_eq!(stream.next_output().await.unwrap().output, "one\n");
    // Events that do not exist yet are waited for.
    let mut future = agent.stream(&exec.id, "?lastSequence=2").await;
    agent.write(&exec.id, "\n").await;
    assert_eq!(stream.next_output().await.unwrap().output, "two\n");
    assert_eq!(future.next_output().await.unwrap().exit_code, Some(0));
}

#[tokio::test]
async fn a_stream_says_at_once_that_it_is_there() {
    let agent = Agent::start();
    let exec = agent.sh("read x").await;
    for path in [format!("/api/v1/stream/execs/{}/io", exec.id), "/api/v1/stream/execs".into()] {
        let mut response = within(agent.request(Method::GET, &path).send()).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let first = within(response.chunk()).await.unwrap().unwrap();
        assert!(first.starts_with(b":"));
    }
}

#[tokio::test]
async fn a_silent_stream_is_kept_awake() {
    let agent = Agent::with_limit("ping-interval=200ms");
    let exec = agent.sh("read x").await;
    let path = format!("/api/v1/stream/execs/{}/io", exec.id);
    let mut response = within(agent.request(Method::GET, &path).send()).await.unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(": ping\n\n") {
        seen.extend(within(response.chunk()).await.unwrap().unwrap());
    }
}

#[tokio::test]
async fn the_stream_of_a_created_exec_waits_until_it_has_run() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "echo", "args": ["hi"], "autostart": false })).await;
    let mut stream = agent.stream(&exec.id, "").await;
    assert_eq!(agent.output_now(&exec.id, "").await, []);
    agent.start_exec(&exec.id).await;
    assert_eq!(stream.next_output().await.unwrap().output, "hi\n");
    assert_eq!(stream.next_output().await.unwrap().exit_code, Some(0));
}

#[tokio::test]
async fn the_list_streams_at_once_and_at_every_change() {
    let agent = Agent::start();
    let mut lists = Events::of(&agent, "/api/v1/stream/execs").await;
    let mut next =
        async || -> Value { serde_json::from_str(&lists.next().await.unwrap()).unwrap() };
    assert_eq!(next().await, json!({ "execs": [] }));
    let exec = agent.sh("read x; exit 9").await;
    let mut statuses = Vec::new();
    agent.write(&exec.id, "\n").await;
    while statuses.last() != Some(&json!(9)) {
        let list = next().await;
        assert_eq!(list["execs"][0]["id"], exec.id.as_str());
        statuses.push(list["execs"][0]["exitCode"].clone());
    }
    agent.delete(&exec.id).await;
    while next().await != json!({ "execs": [] }) {}
}

#[tokio::test]
async fn a_stalled_reader_slows_neither_the_process_nor_another_reader() {
    let agent = Agent::patient(&[]);
    let exec = agent.sh("read x; head -c 50000000 /dev/zero | tr '\\0' x").await;
    // It is never read from.
    let stalled = agent.stream(&exec.id, "").await;
    agent.write(&exec.id, "go\n").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let finished = agent.finish(&exec.id).await;
    assert_eq!(finished.output().len(), 50_000_000);
    // It has lost nothing either.
    let mut stalled = stalled;
    let mut length = 0;
    while let Some(event) = stalled.next_output().await {
        length += event.output.len();
    }
    assert_eq!(length, 50_000_000);
}

#[tokio::test]
async fn without_the_feature_a_stalled_reader_sees_a_jump_between_whole_events() {
    let agent = Agent::patient(&["--spool-limit", "1MiB", "--without", "gap"]);
    let exec = agent.sh("read x; seq 1 10000000").await;
    let mut stalled = agent.stream(&exec.id, "").await;
    agent.write(&exec.id, "go\n").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let mut sequence = 0;
    let mut jumps = 0;
    let mut output = String::new();
    while let Some(event) = stalled.next_output().await {
        assert!(event.sequence > sequence);
        jumps += u32::from(event.sequence != sequence + 1);
        sequence = event.sequence;
        output = event.output + if event.exit_code.is_some() { &output } else { "" };
    }
    assert!(jumps > 0);
    assert!(output.ends_with("\n10000000\n"));
}

#[tokio::test]
async fn output_that_vanished_from_disk_cuts_the_answer_short() {
    let agent = Agent::start();
    let exec = agent.sh("echo here").await;
    agent.finish(&exec.id).await;
    std::fs::remove_dir_all(agent.state.join("execs")).unwrap();
    for path in ["stream/execs", "execs"] {
        let path = format!("/api/v1/{path}/{}/io", exec.id);
        // What is missing must not look like a whole answer.
        let response = within(agent.request(Method::GET, &path).send()).await;
        let body = match response {
            Ok(response) => within(response.bytes()).await,
            Err(error) => Err(error),
        };
        assert!(body.is_err(), "{body:?}");
    }
}

#[tokio::test]
async fn a_hundred_megabytes_do_not_grow_the_agent() {
    let agent = Agent::start();
    let resident = || status_of(agent.pid(), "VmRSS").unwrap();
    agent.run("echo warm").await;
    let before = resident();
    let exec = agent.sh("yes '0123456789 \u{e9}' | head -c 100000000").await;
    let mut stream = agent.stream(&exec.id, "").await;
    let mut length = 0;
    let mut most = before;
    while let Some(event) = stream.next_output().await {
        length += event.output.len();
        if event.sequence % 100 == 0 {
            most = most.max(resident());
        }
    }
    assert_eq!(length, 100_000_000);
    assert!(most - before < 32 * 1024, "it grew by {} KiB", most - before);
}
