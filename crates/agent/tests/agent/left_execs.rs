//! What an agent makes of the execs that an earlier one left, and of what else it finds in their place.

use std::{fs, path::Path, process::Stdio};

use reqwest::Method;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use sandpipe_protocol::ExecItem;
use serde_json::{Value, json};

use crate::{
    full_disk::Disk,
    support::{ADMIN, Agent, agent_command, read_ready, until, within},
};

const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

/// Changes each line of the index.
fn change_index(agent: &Agent, mut change: impl FnMut(&mut Value)) {
    let path = agent.state.join("ended-execs.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            change(&mut line["ended"]);
            line.to_string() + "\n"
        })
        .collect();
    fs::write(path, lines.concat()).unwrap();
}

/// Has the index no room in its last block.
fn pad_index(state: &Path) {
    let path = state.join("ended-execs.jsonl");
    let mut text = fs::read(&path).unwrap();
    text.resize(text.len().next_multiple_of(4096), b'\n');
    fs::write(&path, text).unwrap();
}

/// No file may be longer than the index is now, which is longer than what else an agent writes.
fn keep_index_from_growing(agent: &Agent) {
    let len = fs::metadata(agent.state.join("ended-execs.jsonl")).unwrap().len();
    assert!(len > 4096, "others could not be written, too");
    let pid = Pid::from_raw(agent.pid().cast_signed()).unwrap();
    let maximum = getrlimit(Resource::Fsize).maximum;
    prlimit(Some(pid), Resource::Fsize, Rlimit { current: Some(len), maximum }).unwrap();
}

#[tokio::test]
async fn a_command_runs_once_also_where_its_key_can_not_be_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path().join("runs");
    let script = format!("echo run >> '{}'", runs.display());
    let mut agent = Agent::with(|command| _ = command.args(["--keep-execs", "1"]));
    for _ in 0..10 {
        agent.run("true").await;
    }
    keep_index_from_growing(&agent);
    let exec: ExecItem = agent.create_with_key("key", &script).await.json().await.unwrap();
    agent.finish(&exec.id).await;
    // More than are kept in any case. They have no keys, and go.
    let mut last = String::new();
    for _ in 0..10 {
        last = agent.sh("true").await.id;
        agent.finish(&last).await;
    }
    let go_on = async || agent.list().await.len() <= 5;
    until("those without keys go", go_on).await;
    let execs = agent.list().await;
    assert_eq!((&execs[0].id, &execs.last().unwrap().id), (&last, &exec.id));
    agent.kill();
    agent.restart();
    let again = agent.create_with_key("key", &script).await;
    assert_eq!(again.status(), 200);
    assert_eq!(fs::read_to_string(&runs).unwrap(), "run\n");
}

#[tokio::test]
async fn the_key_of_an_exec_that_was_deleted_to_make_room_is_known_after_a_crash() {
    let Some(disk) = Disk::of("1m") else { return };
    let mut agent = Agent::with_state(disk.path());
    agent.run("true").await;
    let create = async |agent: &Agent| {
        let request = agent.request(Method::POST, "/api/v1/execs").header("Idempotency-Key", "key");
        let body = json!({ "command": "true", "args": [], "autostart": false });
        within(request.json(&body).send()).await.unwrap()
    };
    let exec: ExecItem = create(&agent).await.json().await.unwrap();
    pad_index(&agent.state);
    disk.fill();
    assert_eq!(agent.delete(&exec.id).await.status(), 200);
    agent.kill();
    disk.empty();
    agent.restart();
    assert_eq!(create(&agent).await.status(), 409);
}

#[tokio::test]
async fn the_key_of_an_exec_that_is_there_counts_however_old_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path().join("runs");
    let script = format!("echo run >> '{}'", runs.display());
    let mut agent = Agent::start();
    let exec: ExecItem = agent.create_with_key("key", &script).await.json().await.unwrap();
    agent.finish(&exec.id).await;
    agent.kill();
    change_index(&agent, |line| line["record"]["item"]["createdAt"] = LONG_AGO.into());
    agent.restart();
    let again = agent.create_with_key("key", &script).await;
    assert_eq!(again.status(), 200);
    assert_eq!(again.json::<ExecItem>().await.unwrap().id, exec.id);
    assert_eq!(fs::read_to_string(&runs).unwrap(), "run\n");
}

#[tokio::test]
async fn the_last_to_end_is_the_last_to_go_also_where_the_clock_was_set_back() {
    let mut agent = Agent::start();
    let mut ids = Vec::new();
    for _ in 0..10 {
        let exec = agent.sh("true").await;
        agent.finish(&exec.id).await;
        ids.push(exec.id);
    }
    agent.kill();
    // A year ahead, then an hour ago.
    let mut left = 10;
    change_index(&agent, |line| {
        let at = line["at"].as_u64().unwrap();
        line["at"] = if left > 5 { at + 31_000_000_000 } else { at - 3_600_000 }.into();
        left -= 1;
    });
    agent.restart_with(&["--keep-execs", "1"]);
    // What seems to have ended now is kept for a while.
    until("the list is short", async || agent.list().await.len() <= 4).await;
    assert_eq!(agent.list().await[0].id, ids[9]);
}

#[tokio::test]
async fn what_else_is_among_the_execs_does_not_keep_an_agent_from_its_start() {
    let mut agent = Agent::start();
    let exec = agent.sh("exit 3").await;
    agent.finish(&exec.id).await;
    agent.kill();
    let execs = agent.state.join("execs");
    for name in ["x", "x.removed"] {
        fs::write(execs.join(name), "a file").unwrap();
    }
    fs::create_dir_all(execs.join("y.removed").join("more")).unwrap();
    agent.restart();
    assert_eq!(agent.list().await.len(), 1);
    assert!(!execs.join("y.removed").exists());
}

#[tokio::test]
async fn directories_without_a_record_go() {
    let mut agent = Agent::start();
    let exec = agent.sh("echo 1").await;
    agent.finish(&exec.id).await;
    agent.kill();
    let execs = agent.state.join("execs");
    let [empty, begun, lost, broken] = ["empty", "begun", "lost", "broken"].map(|name| {
        let path = execs.join(name);
        fs::create_dir(&path).unwrap();
        path
    });
    // An agent died while it wrote the first record.
    fs::write(begun.join("exec.json.new"), "{").unwrap();
    fs::write(lost.join("0000.sse"), "output").unwrap();
    fs::write(broken.join("exec.json"), "").unwrap();
    agent.restart();
    assert_eq!(
        [&empty, &begun, &lost, &broken].map(|path| path.exists()),
        [false, false, true, true]
    );
    // These are kept as long as any.
    agent.kill();
    agent.restart_with(&["--keep-for", "1ms"]);
    until("all are gone", async || fs::read_dir(&execs).unwrap().count() == 0).await;
}

#[tokio::test]
async fn numbers_in_the_index_that_can_not_be_are_not_believed() {
    let mut agent = Agent::start();
    for _ in 0..3 {
        agent.run("echo 1").await;
    }
    let list = agent.list().await;
    agent.kill();
    let index = agent.state.join("ended-execs.jsonl");
    let whole = fs::read(&index).unwrap();
    for (field, value) in [("bytes", u64::MAX), ("number", u64::MAX), ("number", 1)] {
        fs::write(&index, &whole).unwrap();
        change_index(&agent, |line| {
            let line = if field == "number" { &mut line["record"] } else { line };
            line[field] = value.into();
        });
        agent.restart();
        assert_eq!(agent.list().await, list, "{field} {value}");
        assert_eq!(agent.run("true").await.exit_code(), 0);
        let new = agent.list().await.swap_remove(0);
        assert_eq!(agent.list().await.len(), 4, "{field} {value}");
        assert_eq!(agent.delete(&new.id).await.status(), 200);
        agent.kill();
    }
}

#[tokio::test]
async fn a_line_of_the_index_that_is_too_long_costs_no_other() {
    let mut agent = Agent::start();
    agent.run("exit 3").await;
    let list = agent.list().await;
    agent.kill();
    // Nothing but the index has it.
    fs::remove_file(agent.state.join("execs").join(&list[0].id).join("exec.json")).unwrap();
    let index = agent.state.join("ended-execs.jsonl");
    let mut text = "x".repeat(1_000_000) + "\n";
    text += &fs::read_to_string(&index).unwrap();
    text += &json!({ "ended": "y".repeat(1_000_000) }).to_string();
    fs::write(&index, text).unwrap();
    agent.restart();
    assert_eq!(agent.list().await, list);
}

#[tokio::test]
async fn an_index_of_which_most_is_of_no_use_is_written_anew_and_no_exec_and_no_key_is_lost() {
    let mut agent = Agent::start();
    let mut ids = Vec::new();
    for key in ["kept", "gone", "old"] {
        let exec: ExecItem = agent.create_with_key(key, "exit 3").await.json().await.unwrap();
        agent.finish(&exec.id).await;
        ids.push(exec.id);
    }
    let keyless = agent.sh("true").await.id;
    agent.finish(&keyless).await;
    for id in [&ids[1], &ids[2], &keyless] {
        assert_eq!(agent.delete(id).await.status(), 200);
    }
    let kept = agent.get(&ids[0]).await;
    agent.kill();
    change_index(&agent, |line| {
        if line["record"]["item"]["id"] == ids[2] {
            line["record"]["item"]["createdAt"] = LONG_AGO.into();
        }
    });
    let index = agent.state.join("ended-execs.jsonl");
    let lines = fs::read_to_string(&index).unwrap();
    fs::write(&index, lines + &"no sense\n".repeat(10_000)).unwrap();
    agent.restart();
    let mut lines: Vec<Value> = Vec::new();
    until("it is short", async || {
        let text = fs::read_to_string(&index).unwrap();
        lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
        lines.len() < 10_000
    })
    .await;
    let [ended, removed] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(ended["ended"]["record"]["item"]["id"], ids[0]);
    assert_eq!(removed["removed"]["id"], ids[1]);
    // What ends from then on is in the new file.
    let last = agent.sh("exit 4").await.id;
    agent.finish(&last).await;
    let last = agent.get(&last).await;
    agent.kill();
    for exec in [&kept, &last] {
        fs::remove_file(agent.state.join("execs").join(&exec.id).join("exec.json")).unwrap();
    }
    agent.restart();
    assert_eq!(agent.list().await, [last, kept.clone()]);
    let again = agent.create_with_key("kept", "exit 3").await;
    assert_eq!(again.json::<ExecItem>().await.unwrap().id, kept.id);
    assert_eq!(agent.create_with_key("gone", "exit 3").await.status(), 409);
}

#[tokio::test]
async fn an_agent_that_starts_says_what_is_over_its_limits() {
    let mut agent = Agent::start();
    for _ in 0..3 {
        agent.run("true").await;
    }
    agent.kill();
    let log = agent.state.with_extension("log");
    let mut command = agent_command(&agent.state);
    command.args(["--keep-for", "1ms"]).env("SANDPIPE_ADMIN_TOKEN", ADMIN);
    command.stdout(Stdio::piped()).stderr(fs::File::create(&log).unwrap());
    agent.process = command.spawn().unwrap();
    read_ready(&mut agent.process);
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("3 execs that have ended are more than are kept"), "{log}");
    assert!(log.contains("1ms (--keep-for)"), "{log}");
}
