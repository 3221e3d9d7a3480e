//! The list of execs: whole, and as it changes.

use std::collections::BTreeMap;

use sandpipe_protocol::{ExecItem, ExecListChanges, ExecListResponse, ExecStatus};
use serde_json::json;

use crate::support::{Agent, Events, message_of, until, within};

/// What a reader knows of the list, by id, and how it learnt it.
#[derive(Default)]
struct Known {
    execs: BTreeMap<String, ExecItem>,
    lists: usize,
    changes: usize,
}

impl Known {
    fn apply(&mut self, data: &str) {
        let by_id = |execs: Vec<ExecItem>| execs.into_iter().map(|exec| (exec.id.clone(), exec));
        if let Ok(ExecListChanges { changed, removed }) = serde_json::from_str(data) {
            self.changes += 1;
            self.execs.extend(by_id(changed));
            self.execs.retain(|id, _| !removed.contains(id));
        } else {
            self.lists += 1;
            let list: ExecListResponse = serde_json::from_str(data).unwrap();
            self.execs = by_id(list.execs).collect();
        }
    }

    async fn follow(&mut self, events: &mut Events, is_there: impl Fn(&Self) -> bool) {
        while !is_there(self) {
            self.apply(&events.next().await.expect("the stream has ended"));
        }
    }
}

async fn changes(agent: &Agent) -> Events {
    Events::of(agent, "/api/v1/stream/execs?changes=true").await
}

#[tokio::test]
async fn a_reader_of_changes_gets_the_list_once_and_then_what_has_changed() {
    let agent = Agent::start();
    let old = agent.sh("exit 3").await;
    agent.finish(&old.id).await;
    let mut events = changes(&agent).await;
    let mut known = Known::default();
    known.follow(&mut events, |known| known.lists == 1).await;
    assert_eq!(known.execs[&old.id].exit_code, 3);
    let new = agent.sh("read go; exit 4").await;
    known.follow(&mut events, |known| known.execs.contains_key(&new.id)).await;
    agent.write(&new.id, "\n").await;
    let over = |known: &Known| known.execs[&new.id].status == ExecStatus::Exited;
    known.follow(&mut events, over).await;
    assert_eq!(known.execs[&new.id], agent.get(&new.id).await);
    agent.delete(&old.id).await;
    known.follow(&mut events, |known| !known.execs.contains_key(&old.id)).await;
    assert_eq!((known.lists, known.execs.len()), (1, 1));
    // Another one has the same list.
    let mut other = Known::default();
    other.follow(&mut changes(&agent).await, |known| known.lists == 1).await;
    assert_eq!(other.execs, known.execs);
}

#[tokio::test]
async fn a_reader_that_reads_late_misses_nothing_in_the_end() {
    let agent = Agent::patient(&[]);
    let mut known = Known::default();
    let mut events = changes(&agent).await;
    known.follow(&mut events, |known| known.lists == 1).await;
    // The reader does not look meanwhile.
    let filler = "x".repeat(200);
    for round in 0..30 {
        for number in 0..30 {
            let args = [&filler, &format!("{round} {number}")];
            agent.create(json!({ "command": "true", "args": args })).await;
        }
    }
    until("all have ended", async || {
        agent.list().await.iter().all(|exec| exec.status == ExecStatus::Exited)
    })
    .await;
    for exec in agent.list().await.iter().skip(5) {
        agent.delete(&exec.id).await;
    }
    let list = agent.list().await;
    let expected = list.iter().map(|exec| (exec.id.clone(), exec.clone())).collect();
    known.follow(&mut events, |known| known.execs == expected).await;
}

#[tokio::test]
async fn without_the_feature_the_list_comes_whole_each_time() {
    let agent = Agent::with_args(&["--without", "list-changes"]);
    let mut events = changes(&agent).await;
    let mut known = Known::default();
    known.follow(&mut events, |known| known.lists == 1).await;
    let exec = agent.sh("exit 3").await;
    let over = |known: &Known| known.execs.get(&exec.id).is_some_and(|exec| exec.exit_code == 3);
    known.follow(&mut events, over).await;
    assert_eq!(known.changes, 0);
    assert!(known.lists >= 2);
}

#[tokio::test]
async fn a_parameter_that_makes_no_sense_is_refused() {
    let agent = Agent::start();
    let path = "/api/v1/stream/execs?changes=perhaps";
    let response = within(agent.request(reqwest::Method::GET, path).send()).await.unwrap();
    assert_eq!(response.status(), 400);
}

#[tokio::test]
async fn a_list_that_does_not_change_gives_signs_of_life_as_often_as_is_asked_for() {
    let agent = Agent::start();
    let path = "/api/v1/stream/execs?changes=true&heartbeat=100";
    let mut stream = within(agent.request(reqwest::Method::GET, path).send()).await.unwrap();
    let mut text = String::new();
    // Without it there would be none for 15 s, which is longer than is waited here.
    while text.matches("\n:").count() < 5 {
        let chunk = within(stream.chunk()).await.unwrap().expect("it goes on");
        text += std::str::from_utf8(&chunk).unwrap();
    }
    for wrong in ["99", "15001", "often", "-1"] {
        let path = format!("/api/v1/stream/execs?heartbeat={wrong}");
        let response = within(agent.request(reqwest::Method::GET, &path).send()).await.unwrap();
        assert_eq!(response.status(), 400, "{wrong}");
        let message = message_of(response).await;
        assert!(message.contains("from 100 to 15000"), "{message}");
    }
    // An agent without the extension knows no such parameter.
    let agent = Agent::with_args(&["--without", "heartbeat"]);
    let path = "/api/v1/stream/execs?heartbeat=99";
    let response = within(agent.request(reqwest::Method::GET, path).send()).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn whole_lists_come_seldom_however_often_they_change() {
    let agent = Agent::start();
    let mut events = Events::of(&agent, "/api/v1/stream/execs").await;
    let mut known = Known::default();
    known.follow(&mut events, |known| known.lists == 1).await;
    let started = std::time::Instant::now();
    for _ in 0..100 {
        agent.sh("true").await;
    }
    let over = |known: &Known| {
        known.execs.len() == 100
            && known.execs.values().all(|exec| exec.status == ExecStatus::Exited)
    };
    known.follow(&mut events, over).await;
    // Each of the commands changes the list three times.
    let most = started.elapsed().as_millis() / 250 + 3;
    assert!(known.lists as u128 <= most, "{} lists", known.lists);
}

#[tokio::test]
async fn long_arguments_are_short_in_lists_and_whole_in_the_exec() {
    for flags in [&[][..], &["--ephemeral"]] {
        let agent = Agent::with_args(flags);
        let args: Vec<_> = (0..100).map(|number| format!("{number} {}", "é".repeat(500))).collect();
        let request = json!({ "command": "true", "args": args });
        let created = agent.create(request).await;
        assert_eq!((&created.args, created.args_truncated), (&args, None));
        agent.finish(&created.id).await;
        let ended = agent.get(&created.id).await;
        assert_eq!((&ended.args, ended.args_truncated), (&args, None));
        let list = agent.list().await;
        assert_eq!(list[0].args_truncated, Some(true));
        assert!(serde_json::to_string(&list[0]).unwrap().len() < 640);
        assert!(args[0].starts_with(&list[0].args[0]));
        let mut known = Known::default();
        known.follow(&mut changes(&agent).await, |known| known.lists == 1).await;
        assert_eq!(known.execs[&created.id], list[0]);
        // Usual ones are as they are.
        let usual = agent.sh("true").await;
        agent.finish(&usual.id).await;
        assert_eq!(agent.list().await[0], agent.get(&usual.id).await);
    }
}
