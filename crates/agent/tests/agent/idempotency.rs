//! A create that is repeated runs its command once.

use std::sync::Arc;

use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::json;

use crate::support::{Agent, message_of, within};

#[tokio::test]
async fn of_many_creates_with_one_key_one_runs() {
    let agent = Arc::new(Agent::start());
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path().join("runs");
    let script = format!("echo run >> '{}'", runs.display());
    let creates: Vec<_> = (0..50)
        .map(|_| {
            let (agent, script) = (Arc::clone(&agent), script.clone());
            tokio::spawn(async move {
                let response = agent.create_with_key("one-key", &script).await;
                (response.status().as_u16(), response.json::<ExecItem>().await.unwrap().id)
            })
        })
        .collect();
    let mut answers = Vec::new();
    for create in creates {
        answers.push(create.await.unwrap());
    }
    assert_eq!(answers.iter().filter(|(status, _)| *status == 201).count(), 1);
    assert_eq!(answers.iter().filter(|(status, _)| *status == 200).count(), 49);
    assert!(answers.iter().all(|(_, id)| *id == answers[0].1));
    agent.finish(&answers[0].1).await;
    assert_eq!(agent.list().await.len(), 1);
    // The answer is the exec as it is now.
    let again = agent.create_with_key("one-key", &script).await;
    let again: ExecItem = again.json().await.unwrap();
    assert_eq!((again.status, again.exit_code), (ExecStatus::Exited, 0));
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");
}

#[tokio::test]
async fn a_key_belongs_to_one_request() {
    let agent = Agent::start();
    assert_eq!(agent.create_with_key("key", "exit 1").await.status(), 201);
    assert_eq!(agent.create_with_key("key", "exit 2").await.status(), 422);
    assert_eq!(agent.create_with_key("other", "exit 2").await.status(), 201);
    assert_eq!(agent.list().await.len(), 2);
    for wrong in ["", "two words", &"x".repeat(256)] {
        assert_eq!(agent.create_with_key(wrong, "true").await.status(), 400, "{wrong:?}");
    }
}

#[tokio::test]
async fn a_create_that_failed_frees_its_key() {
    let agent = Agent::start();
    let create = async |body: serde_json::Value| {
        let request = agent.request(reqwest::Method::POST, "/api/v1/execs");
        let request = request.header("Idempotency-Key", "key").json(&body);
        within(request.send()).await.unwrap().status()
    };
    let nowhere = json!({ "command": "true", "args": [], "cwd": "/no/such/directory" });
    assert_eq!(create(nowhere.clone()).await, 400);
    assert_eq!(create(nowhere).await, 400);
    assert_eq!(create(json!({ "command": "true", "args": [] })).await, 201);
}

#[tokio::test]
async fn an_exec_that_was_deleted_is_not_run_again() {
    let agent = Agent::start();
    let exec: ExecItem = agent.create_with_key("key", "true").await.json().await.unwrap();
    agent.delete(&exec.id).await;
    let response = agent.create_with_key("key", "true").await;
    assert_eq!(response.status(), 409);
    assert!(message_of(response).await.contains("deleted"));
    assert_eq!(agent.list().await, []);
}

#[tokio::test]
async fn a_key_is_known_after_a_restart() {
    let mut agent = Agent::start();
    let exec: ExecItem = agent.create_with_key("key", "echo x").await.json().await.unwrap();
    agent.finish(&exec.id).await;
    agent.kill();
    agent.restart();
    let response = agent.create_with_key("key", "echo x").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.json::<ExecItem>().await.unwrap().id, exec.id);
    assert_eq!(agent.create_with_key("key", "echo y").await.status(), 422);
}
