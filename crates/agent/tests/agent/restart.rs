//! What an agent knows of the execs of an earlier one with the same state directory.

use std::{fs, path::Path};

use nix::{
    sys::signal::Signal,
    unistd::{getegid, geteuid},
};
use sandpipe_protocol::ExecStatus;
use serde_json::json;

use crate::support::{Agent, until};

#[tokio::test]
async fn execs_that_had_ended_are_served_as_they_were() {
    let mut agent = Agent::start();
    let mut ids = Vec::new();
    for script in ["echo out; echo err >&2; exit 3", "true", "seq 1 100000", "kill -9 $$"] {
        ids.push(agent.sh(script).await.id);
    }
    ids.push(agent.create(json!({ "command": "no-such-command", "args": ["x"] })).await.id);
    let user = format!("{}:{}", geteuid(), getegid());
    let terminal = json!({ "command": "tty", "args": [], "pty": true, "user": user });
    ids.push(agent.create(terminal).await.id);
    let stopped = agent.sh("sleep 300").await.id;
    agent.signal_exec(&stopped, "TERM").await;
    ids.push(stopped);
    let mut events = Vec::new();
    for id in &ids {
        events.push(agent.finish(id).await.0);
    }
    let list = agent.list().await;
    for crash in [true, false, true] {
        if crash {
            agent.kill();
        } else {
            agent.signal(Signal::SIGTERM);
            assert!(agent.ended().await.success());
        }
        agent.restart();
        assert_eq!(agent.list().await, list);
        for (id, events) in ids.iter().zip(&events) {
            assert_eq!(agent.finish(id).await.0, *events);
            assert_eq!(agent.output_now(id, "").await, *events);
            let newest = agent.output_now(id, "?lastSequence=-1").await;
            assert_eq!(newest, events[events.len() - 1..]);
        }
        assert_eq!(agent.start_exec(&ids[0]).await.status(), 409);
        assert_eq!(agent.write(&ids[0], "x").await.status(), 400);
        assert_eq!(agent.signal_exec(&ids[0], "TERM").await.status(), 409);
    }
    // New ones come after them.
    let new = agent.sh("true").await.id;
    assert_eq!(agent.list().await[0].id, new);
    assert_eq!(agent.delete(&ids[0]).await.status(), 200);
    agent.kill();
    agent.restart();
    assert_eq!(agent.list().await.len(), ids.len());
}

#[tokio::test]
async fn an_exec_that_ran_when_the_agent_died_has_output_and_no_exit_code() {
    let mut agent = Agent::start();
    let exec = agent.sh("echo one; echo two >&2; exec sleep 300").await;
    let silent = agent.sh("exec sleep 300").await;
    let created = agent.create(json!({ "command": "true", "args": [], "autostart": false })).await;
    let mut stream = agent.stream(&exec.id, "").await;
    let before = [stream.next_output().await.unwrap(), stream.next_output().await.unwrap()];
    agent.kill();
    for _ in 0..2 {
        agent.restart();
        for (id, pid, count) in
            [(&exec.id, exec.pid, 2), (&silent.id, silent.pid, 0), (&created.id, 0, 0)]
        {
            let item = agent.get(id).await;
            assert_eq!((item.status, item.exit_code), (ExecStatus::Stopped, -1));
            assert_eq!(item.pid, pid);
            assert_eq!(agent.finish(id).await.0, before[..count]);
            assert_eq!(agent.output_now(id, "").await, before[..count]);
            assert_eq!(agent.start_exec(id).await.status(), 409);
            assert_eq!(agent.write(id, "x").await.status(), 400);
        }
        assert_eq!(agent.finish(&exec.id).await.0, before);
        let mut rest = agent.stream(&exec.id, "?lastSequence=1").await;
        assert_eq!(rest.next_output().await.as_ref(), Some(&before[1]));
        assert_eq!(rest.next_output().await, None);
        let mut beyond = agent.stream(&exec.id, "?lastSequence=2").await;
        assert_eq!(beyond.next_output().await, None);
        agent.kill();
    }
}

#[tokio::test]
async fn execs_that_a_shutdown_stopped_keep_their_exit_codes() {
    let mut agent = Agent::start();
    let exec = agent.sh("trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done");
    let exec = exec.await;
    agent.stream(&exec.id, "").await.until_output("ready\n").await;
    agent.signal(Signal::SIGTERM);
    assert!(agent.ended().await.success());
    agent.restart();
    let finished = agent.finish(&exec.id).await;
    assert_eq!(finished.exit_code(), 9);
    assert!(finished.output().starts_with("ready\n") && finished.output().ends_with("bye\n"));
    assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Stopped);
}

#[tokio::test]
async fn an_event_that_was_half_written_is_cut_off() {
    let mut agent = Agent::start();
    let exec = agent.sh("echo one; read x; echo two; exec sleep 300").await;
    let mut stream = agent.stream(&exec.id, "").await;
    let one = stream.next_output().await.unwrap();
    agent.write(&exec.id, "\n").await;
    stream.next_output().await.unwrap();
    agent.kill();
    let segment = agent.state.join("execs").join(&exec.id).join("0000.frames");
    let bytes = fs::read(&segment).unwrap();
    for cut in [1, 2, 20] {
        fs::write(&segment, &bytes[..bytes.len() - cut]).unwrap();
        agent.restart();
        assert_eq!(agent.finish(&exec.id).await.0, std::slice::from_ref(&one), "{cut} bytes less");
        agent.kill();
    }
}

#[tokio::test]
async fn what_an_agent_was_killed_in_the_middle_of_is_whole() {
    let mut agent = Agent::start();
    let exec = agent.sh("while :; do echo 'some line of output'; done").await;
    for round in 1..4 {
        until("there is output", async || {
            let directory = agent.state.join("execs").join(&exec.id);
            size(&directory) > round * 100_000
        })
        .await;
    }
    agent.kill();
    agent.restart();
    let events = agent.finish(&exec.id).await;
    let expected: Vec<_> = (1..=events.0.len() as u64).collect();
    assert_eq!(events.sequences(), expected);
    let whole = "some line of output\n".repeat(events.output().len() / 20 + 1);
    assert!(events.output().len() > 100_000 && whole.starts_with(&events.output()));
}

fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

#[tokio::test]
async fn output_that_had_been_dropped_is_still_told_of() {
    let mut agent = Agent::with_args(&["--spool-limit", "64KiB"]);
    let exec = agent.sh("seq 1 200000").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let path = format!("/api/v1/execs/{}/io", exec.id);
    let gone = async |agent: &Agent| -> serde_json::Value {
        let response = agent.request(reqwest::Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), 410);
        response.json().await.unwrap()
    };
    let before = gone(&agent).await;
    let query = format!("?lastSequence={}", before["to"]);
    let kept = agent.output_now(&exec.id, &query).await;
    agent.kill();
    agent.restart();
    assert_eq!(gone(&agent).await, before);
    assert_eq!(agent.output_now(&exec.id, &query).await, kept);
}

#[tokio::test]
async fn a_directory_that_makes_no_sense_costs_no_exec() {
    let mut agent = Agent::start();
    let exec = agent.sh("echo fine").await;
    agent.finish(&exec.id).await;
    agent.kill();
    let execs = agent.state.join("execs");
    fs::create_dir(execs.join("empty")).unwrap();
    fs::create_dir(execs.join("nonsense")).unwrap();
    fs::write(execs.join("nonsense/exec.json"), "{").unwrap();
    fs::create_dir(execs.join("another")).unwrap();
    fs::copy(execs.join(&exec.id).join("exec.json"), execs.join("another/exec.json")).unwrap();
    fs::write(execs.join("file"), "").unwrap();
    // One that was being removed.
    fs::create_dir(execs.join("0123.removed")).unwrap();
    agent.restart();
    assert_eq!(agent.list().await.len(), 1);
    assert_eq!(agent.finish(&exec.id).await.output(), "fine\n");
    for left in ["nonsense", "another", "file"] {
        assert!(execs.join(left).exists(), "{left}");
    }
    for gone in ["empty", "0123.removed"] {
        assert!(!execs.join(gone).exists(), "{gone}");
    }
}

#[tokio::test]
async fn what_is_written_of_an_exec_is_its_owners_alone_and_holds_no_environment() {
    use std::os::unix::fs::PermissionsExt;

    let agent = Agent::start();
    let request = json!({ "command": "true", "args": [], "env": { "PASSWORD": "a-secret" } });
    let exec = agent.create(request).await;
    agent.finish(&exec.id).await;
    let file = agent.state.join("execs").join(&exec.id).join("exec.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).unwrap().contains("a-secret"));
}
