//! What is kept of commands that have ended, and what goes.

use std::fs;

use nix::sys::signal::Signal;
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::json;

use crate::support::{Agent, lives, until};

/// An agent with these flags.
fn agent(args: &[&str]) -> Agent {
    Agent::with_args(args)
}

async fn until_list_is(agent: &Agent, ids: &[String]) {
    until("the list is what is kept", async || {
        let list = agent.list().await;
        list.iter().map(|exec| &exec.id).eq(ids.iter().rev())
    })
    .await;
}

/// Runs some commands to their ends, one after the other.
async fn run_each(agent: &Agent, scripts: &[&str]) -> Vec<String> {
    let mut ids = Vec::new();
    for script in scripts {
        let id = agent.sh(script).await.id;
        agent.finish(&id).await;
        ids.push(id);
    }
    ids
}

fn directories(agent: &Agent) -> usize {
    fs::read_dir(agent.state.join("execs")).unwrap().count()
}

/// How many times a limit is kept at most, where what is over it has just ended or is being read.
const HARD: usize = 4;

#[tokio::test]
async fn of_those_that_have_ended_the_newest_are_kept_and_none_that_runs_goes() {
    let mut agent = agent(&["--keep-execs", "1"]);
    let runs = agent.sh("exec sleep 300").await;
    let waits = agent.create(json!({ "command": "true", "args": [], "autostart": false })).await;
    let ended =
        run_each(&agent, &["echo 1", "echo 2", "echo 3", "echo 4", "echo 5", "echo 6"]).await;
    let kept = [&[runs.id.clone(), waits.id.clone()], &ended[6 - HARD..]].concat();
    until_list_is(&agent, &kept).await;
    let path = format!("/api/v1/execs/{}", ended[0]);
    let response = agent.request(reqwest::Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), 404);
    assert_eq!(agent.finish(&ended[2]).await.output(), "3\n");
    until("the files are gone", async || directories(&agent) == kept.len()).await;
    // What is recovered counts, too: the one that ran has ended by now, and so has the one that waited.
    agent.kill();
    agent.restart_with(&["--keep-execs", "1"]);
    until("the list is short", async || agent.list().await.len() == HARD).await;
    until("the files are gone", async || directories(&agent) == HARD).await;
    // Some time later each is over the limit but one.
    agent.kill();
    let index = agent.state.join("ended-execs.jsonl");
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, earlier(&text, 120_000)).unwrap();
    agent.restart_with(&["--keep-execs", "1"]);
    until("the list is short", async || agent.list().await.len() == 1).await;
    until("the files are gone", async || directories(&agent) == 1).await;
}

/// The index as if each exec had ended so many milliseconds earlier.
fn earlier(index: &str, milliseconds: u64) -> String {
    let lines = index.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let at = line["ended"]["at"].as_u64().unwrap();
        line["ended"]["at"] = (at - milliseconds).into();
        line.to_string() + "\n"
    });
    lines.collect()
}

#[tokio::test]
async fn what_has_ended_goes_when_its_time_is_over() {
    let agent = agent(&["--keep-for", "2s"]);
    let runs = agent.sh("exec sleep 300").await;
    agent.sh("echo 1").await;
    agent.sh("exit 2").await;
    until_list_is(&agent, &[runs.id]).await;
    until("the files are gone", async || directories(&agent) == 1).await;
}

#[tokio::test]
async fn what_has_ended_takes_no_more_disk_than_it_may() {
    let agent = agent(&["--spool-total", "256KiB"]);
    let large = "head -c 600000 /dev/zero | tr '\\0' x";
    let ended = run_each(&agent, &["echo small", large, large]).await;
    until_list_is(&agent, &ended[2..]).await;
    assert_eq!(agent.finish(&ended[2]).await.output().len(), 600_000);
    // One alone may be larger than all may be: its end has still to be read.
    let larger = run_each(&agent, &["head -c 2000000 /dev/zero | tr '\\0' x"]).await;
    until_list_is(&agent, &larger).await;
    assert_eq!(agent.finish(&larger[0]).await.output().len(), 2_000_000);
}

#[tokio::test]
async fn what_has_just_ended_is_there_for_who_asks_for_its_end() {
    let agent = agent(&["--keep-execs", "10"]);
    let exec = agent.sh("exit 3").await;
    run_each(&agent, &["true"; 30]).await;
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 3);
}

#[tokio::test]
async fn an_output_that_is_read_is_there_up_to_its_end() {
    // It is over all limits but those of what is being read.
    let agent = Agent::patient(&["--keep-for", "1s", "--spool-total", "20MiB"]);
    // More than sockets hold: the reader has not seen the end when others have ended, and are gone.
    let script = "head -c 50000000 /dev/zero | tr '\\0' x; exit 3";
    let exec = agent.sh(script).await;
    let mut stream = agent.stream(&exec.id, "").await;
    let mut len = stream.next_output().await.unwrap().output.len();
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 3).await;
    for _ in 0..3 {
        let next = agent.sh("true").await;
        until("the next is gone", async || {
            agent.list().await.iter().all(|exec| exec.id != next.id)
        })
        .await;
    }
    let mut last = None;
    while let Some(event) = stream.next_output().await {
        len += event.output.len();
        last = Some(event);
    }
    assert_eq!((last.and_then(|last| last.exit_code), len), (Some(3), 50_000_000));
}

#[tokio::test]
async fn where_too_much_is_read_at_once_the_oldest_goes_all_the_same() {
    let agent = Agent::patient(&["--keep-execs", "1"]);
    let script = "head -c 50000000 /dev/zero | tr '\\0' x";
    let exec = agent.sh(script).await;
    let mut stream = agent.stream(&exec.id, "").await;
    stream.next_output().await.unwrap();
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let next = run_each(&agent, &["true"; HARD]).await;
    until_list_is(&agent, &next).await;
    let mut last = stream.next_output().await;
    while let Some(event) = stream.next_output().await {
        last = Some(event);
    }
    assert_eq!(last.expect("it was read").exit_code, None);
}

#[tokio::test]
async fn an_exec_that_a_process_outlives_stays_and_its_processes_live() {
    let agent = agent(&["--keep-execs", "1"]);
    let exec = agent.sh("sleep 300 & echo $!").await;
    // It leaves the process group, and keeps the output open.
    let escaped = agent.sh("setsid sleep 300 & echo $!").await;
    let mut survivors: Vec<u32> = Vec::new();
    for id in [&exec.id, &escaped.id] {
        survivors.push(agent.finish(id).await.output().trim().parse().unwrap());
    }
    let ended = run_each(&agent, &["true"; 2 * HARD]).await;
    until_list_is(&agent, &[&[exec.id, escaped.id], &ended[HARD..]].concat()).await;
    assert!(survivors.iter().all(|pid| lives(*pid)));
    for pid in survivors {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), Signal::SIGKILL)
            .unwrap();
    }
}

#[tokio::test]
async fn a_command_whose_exec_is_gone_is_not_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path().join("runs");
    let script = format!("echo run >> '{}'", runs.display());
    let mut agent = agent(&["--keep-execs", "1"]);
    let exec: ExecItem = agent.create_with_key("key", &script).await.json().await.unwrap();
    agent.finish(&exec.id).await;
    let last = run_each(&agent, &["true"; HARD]).await;
    until_list_is(&agent, &last).await;
    // One that ran when it was deleted has no end to remember it by.
    let running: ExecItem =
        agent.create_with_key("other", "exec sleep 300").await.json().await.unwrap();
    agent.delete(&running.id).await;
    for crash in [true, false, true] {
        assert_eq!(agent.create_with_key("key", &script).await.status(), 409);
        assert_eq!(agent.create_with_key("other", "exec sleep 300").await.status(), 409);
        if crash {
            agent.kill();
        } else {
            agent.signal(Signal::SIGTERM);
            assert!(agent.ended().await.success());
        }
        agent.restart();
    }
    assert_eq!(fs::read_to_string(&runs).unwrap(), "run\n");
}

#[tokio::test]
async fn an_index_that_is_missing_or_cut_costs_nothing_but_time() {
    let mut agent = Agent::start();
    run_each(&agent, &["echo 1; exit 3", "echo 2 >&2", "kill -9 $$"]).await;
    let long = json!({ "command": "true", "args": ["x".repeat(100_000)] });
    let long = agent.create(long).await;
    agent.finish(&long.id).await;
    let list = agent.list().await;
    let index = agent.state.join("ended-execs.jsonl");
    agent.kill();
    let whole = fs::read(&index).unwrap();
    assert!(whole.len() < 10_000, "long arguments are in the index");
    for len in [0, 1, whole.len() / 2, whole.len() - 1, whole.len()] {
        fs::write(&index, &whole[..len]).unwrap();
        agent.restart();
        assert_eq!(agent.list().await, list, "{len}");
        assert_eq!(agent.get(&long.id).await.args, long.args, "{len}");
        agent.kill();
    }
    fs::remove_file(&index).unwrap();
    agent.restart();
    assert_eq!(agent.list().await, list);
    // It has been made anew, so that the directories need not be read.
    agent.kill();
    fs::remove_file(agent.state.join("execs").join(&list[1].id).join("exec.json")).unwrap();
    agent.restart();
    assert_eq!(agent.list().await, list);
}

#[tokio::test]
async fn an_exec_tells_when_it_was_created_started_and_ended() {
    let mut agent = Agent::start();
    let created = agent.create(json!({ "command": "true", "args": [], "autostart": false })).await;
    assert!(created.created_at.is_some());
    assert_eq!((&created.started_at, &created.ended_at), (&None, &None));
    agent.start_exec(&created.id).await;
    let end = agent.finish(&created.id).await.0.pop().unwrap();
    let ended = agent.get(&created.id).await;
    assert_eq!(ended.created_at, created.created_at);
    assert!(ended.started_at >= ended.created_at);
    assert_eq!(ended.ended_at, end.timestamp);
    assert!(ended.ended_at >= ended.started_at);
    let never = agent.create(json!({ "command": "no-such-command", "args": [] })).await;
    agent.finish(&never.id).await;
    let never = agent.get(&never.id).await;
    assert_eq!((never.exit_code, &never.started_at), (127, &None));
    assert!(never.ended_at.is_some());
    let running = agent.sh("exec sleep 300").await;
    agent.kill();
    agent.restart();
    assert_eq!(agent.get(&ended.id).await, ended);
    assert_eq!(agent.get(&never.id).await, never);
    // Nobody knows when it ended.
    let lost = agent.get(&running.id).await;
    assert_eq!((lost.status, &lost.ended_at), (ExecStatus::Stopped, &None));
    assert_eq!(lost.started_at, running.started_at);
}

#[tokio::test]
async fn a_record_of_an_older_agent_is_read() {
    let mut agent = Agent::start();
    let exec = agent.sh("echo before; exit 4").await;
    agent.finish(&exec.id).await;
    agent.kill();
    let file = agent.state.join("execs").join(&exec.id).join("exec.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for field in ["createdAt", "startedAt", "endedAt"] {
        record["item"].as_object_mut().unwrap().remove(field);
    }
    fs::write(&file, record.to_string()).unwrap();
    fs::remove_file(agent.state.join("ended-execs.jsonl")).unwrap();
    agent.restart();
    let item = agent.get(&exec.id).await;
    assert_eq!((item.exit_code, &item.created_at), (4, &None));
    assert!(item.ended_at.is_some(), "its last event has the time");
    assert_eq!(agent.finish(&exec.id).await.output(), "before\n");
}
