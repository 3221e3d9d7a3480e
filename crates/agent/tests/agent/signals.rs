//! Signals to a whole process group.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::Method;
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::json;

use crate::support::{
    Agent, READONLY, marked, marked_script, message_of, none_is_left, state_of, until,
};

/// Starts a script that says `ready` when it is.
async fn ready(agent: &Agent, script: &str, marker: &str, pty: bool) -> ExecItem {
    let exec = agent.create(marked_script(script, marker, pty)).await;
    agent.stream(&exec.id, "").await.until_output("ready").await;
    exec
}

#[tokio::test]
async fn a_signal_reaches_children_grandchildren_and_background_jobs() {
    let agent = Agent::start();
    let script = "sleep 300 & (sleep 300 & sh -c 'sleep 300; :' & wait) & \
                  sh -c 'sh -c \"sleep 300; :\" & echo ready; wait'; :";
    for pty in [false, true] {
        let marker = format!("tree {pty}");
        let exec = ready(&agent, script, &marker, pty).await;
        // One of them says `ready`, the others may not have begun.
        until("all seven are there", async || marked(&marker).len() >= 7).await;
        let response = agent.signal_exec(&exec.id, "SIGTERM").await;
        assert_eq!(response.status(), 200);
        let item: ExecItem = response.json().await.unwrap();
        assert!([ExecStatus::Stopping, ExecStatus::Stopped].contains(&item.status));
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 143);
        assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Stopped);
        none_is_left(&marker).await;
    }
}

#[tokio::test]
async fn a_job_of_an_interactive_shell_has_a_group_of_its_own_and_dies_too() {
    let agent = Agent::start();
    let script = "set -m; sleep 300 & sleep 300 & echo ready; wait";
    for round in 0..5 {
        let exec = ready(&agent, script, "jobs", true).await;
        agent.signal_exec(&exec.id, "KILL").await;
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 137, "{round}");
        none_is_left("jobs").await;
    }
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_lives_on_until_sigkill() {
    let agent = Agent::start();
    let script = "trap '' TERM; trap 'echo usr1' USR1; echo ready; while :; do sleep 0.05; done";
    for pty in [false, true] {
        let marker = format!("ignores {pty}");
        let exec = ready(&agent, script, &marker, pty).await;
        assert_eq!(agent.signal_exec(&exec.id, "TERM").await.status(), 200);
        assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Stopping);
        // It acts on what comes after, so it has lived through it.
        assert_eq!(agent.signal_exec(&exec.id, "usr1").await.status(), 200);
        agent.stream(&exec.id, "").await.until_output("usr1").await;
        assert_eq!(agent.signal_exec(&exec.id, "0").await.status(), 200);
        assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 137);
        none_is_left(&marker).await;
        assert_eq!(agent.signal_exec(&exec.id, "0").await.status(), 409);
    }
}

#[tokio::test]
async fn a_process_that_is_stopped_acts_on_sigterm() {
    let agent = Agent::start();
    for pty in [false, true] {
        let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
        let exec = ready(&agent, script, "stopped", pty).await;
        kill(Pid::from_raw(exec.pid.cast_signed()), Signal::SIGSTOP).unwrap();
        until("it is stopped", async || state_of(exec.pid) == Some('T')).await;
        assert_eq!(agent.signal_exec(&exec.id, "TERM").await.status(), 200);
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.exit_code(), 7);
        assert!(finished.output().contains("bye"));
        assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Stopped);
    }
}

#[tokio::test]
async fn a_signal_that_is_no_stop_leaves_the_status() {
    let agent = Agent::start();
    let script = "trap 'exit 3' USR1; echo ready; while :; do sleep 0.01; done";
    let exec = ready(&agent, script, "status", false).await;
    for signal in ["0", "SIGCONT", "WINCH"] {
        assert_eq!(agent.signal_exec(&exec.id, signal).await.status(), 200);
        assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Running);
    }
    agent.signal_exec(&exec.id, "USR1").await;
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 3);
    assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Exited);
}

#[tokio::test]
async fn members_that_outlived_the_leader_get_signals() {
    let agent = Agent::start();
    let exec = ready(&agent, "sleep 300 & echo ready", "outlived", false).await;
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 0);
    assert_eq!(agent.signal_exec(&exec.id, "0").await.status(), 200);
    assert_eq!(agent.signal_exec(&exec.id, "TERM").await.status(), 200);
    none_is_left("outlived").await;
    until("the group is gone", async || agent.signal_exec(&exec.id, "0").await.status() == 409)
        .await;
    assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Exited);
}

#[tokio::test]
async fn a_signal_that_cant_be_sent_is_refused_with_the_reason() {
    let agent = Agent::start();
    let refused = async |id: &str, signal: &str, status: u16| -> String {
        let response = agent.signal_exec(id, signal).await;
        assert_eq!(response.status(), status, "{signal}");
        message_of(response).await
    };
    let exec = agent.sh("sleep 300").await;
    for name in ["", "SIGNONSENSE", "15", "-9"] {
        assert!(refused(&exec.id, name, 400).await.contains(name));
    }
    let created = agent.create(json!({ "command": "true", "args": [], "autostart": false })).await;
    assert!(refused(&created.id, "TERM", 409).await.contains("not been started"));
    let ended = agent.sh("true").await;
    agent.finish(&ended.id).await;
    assert!(refused(&ended.id, "TERM", 409).await.contains("ended"));
    refused("none", "TERM", 404).await;
    let path = format!("/api/v1/execs/{}/signal", exec.id);
    let request = agent.anonymous(Method::POST, &path).bearer_auth(READONLY);
    let response = request.json(&json!({ "signal": "TERM" })).send().await.unwrap();
    assert_eq!(response.status(), 403);
    let wrong = agent.request(Method::POST, &path).json(&json!({})).send().await.unwrap();
    assert_eq!(wrong.status(), 400);
    assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Running);
}
