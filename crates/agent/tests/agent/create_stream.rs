//! A create that is answered with the stream of the output.

use reqwest::{Method, Response};
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::{Value, json};

use crate::support::{Agent, Events, until, within};

async fn create(agent: &Agent, accept: &str, request: &Value) -> Response {
    let create = agent.request(Method::POST, "/api/v1/execs").json(request);
    let create = create.header("Accept", accept).header("Idempotency-Key", "key");
    within(create.send()).await.unwrap()
}

fn shell(script: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", script] })
}

fn content_type(response: &Response) -> &str {
    response.headers()["content-type"].to_str().unwrap()
}

/// The exec and the output that an answer tells of.
async fn read(response: Response) -> (ExecItem, Vec<(u64, String, Option<i32>)>) {
    assert_eq!(content_type(&response), "text/event-stream");
    let mut events = Events::in_answer(response);
    let exec = serde_json::from_str(&events.next().await.unwrap()).unwrap();
    let mut output = Vec::new();
    while let Some(event) = events.next_output().await {
        output.push((event.sequence, event.output, event.exit_code));
    }
    (exec, output)
}

#[tokio::test]
async fn the_answer_is_the_exec_and_then_its_output() {
    let agent = Agent::start();
    let response = create(&agent, "text/event-stream", &shell("echo out; exit 3")).await;
    assert_eq!(response.status(), 201);
    let (exec, output) = read(response).await;
    assert_eq!(exec.id, agent.list().await[0].id);
    assert_eq!(output[0], (1, "out\n".to_owned(), None));
    assert_eq!(output.last().unwrap().2, Some(3));
}

#[tokio::test]
async fn the_exec_is_told_before_there_is_output_and_named_as_such() {
    let agent = Agent::start();
    let response = create(&agent, "text/event-stream", &shell("exec sleep 1000")).await;
    let mut events = Events::in_answer(response);
    let exec: ExecItem = serde_json::from_str(&events.next().await.unwrap()).unwrap();
    assert_eq!(exec.status, ExecStatus::Running);
    let mut again = create(&agent, "text/event-stream", &shell("exec sleep 1000")).await;
    let first = within(again.chunk()).await.unwrap().unwrap();
    assert!(first.starts_with(b"event: exec\ndata: {"), "{first:?}");
}

#[tokio::test]
async fn a_repeated_create_gives_the_output_from_its_beginning() {
    let agent = Agent::start();
    let first = read(create(&agent, "text/event-stream", &shell("echo once")).await).await;
    let again = create(&agent, "text/event-stream", &shell("echo once")).await;
    assert_eq!(again.status(), 200);
    let again = read(again).await;
    assert_eq!((&again.0.id, &again.1), (&first.0.id, &first.1));
    assert_eq!(agent.list().await.len(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_leaves_the_command_running() {
    let agent = Agent::start();
    let response = create(&agent, "text/event-stream", &shell("echo begun; read x; exit 5")).await;
    let mut events = Events::in_answer(response);
    let exec: ExecItem = serde_json::from_str(&events.next().await.unwrap()).unwrap();
    assert_eq!(events.next_output().await.unwrap().output, "begun\n");
    drop(events);
    assert_eq!(agent.write(&exec.id, "go\n").await.status(), 200);
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 5);
}

#[tokio::test]
async fn one_that_waits_for_its_start_streams_when_it_has_been_started() {
    let agent = Agent::start();
    let request = json!({ "command": "echo", "args": ["hi"], "autostart": false });
    let mut events = Events::in_answer(create(&agent, "text/event-stream", &request).await);
    let exec: ExecItem = serde_json::from_str(&events.next().await.unwrap()).unwrap();
    assert_eq!(exec.status, ExecStatus::Created);
    assert_eq!(agent.start_exec(&exec.id).await.status(), 200);
    assert_eq!(events.next_output().await.unwrap().output, "hi\n");
}

#[tokio::test]
async fn a_create_that_is_refused_is_answered_in_json() {
    let agent = Agent::start();
    let request = json!({ "command": "true", "args": [], "cwd": "/no/such/directory" });
    let response = create(&agent, "text/event-stream", &request).await;
    assert_eq!(response.status(), 400);
    assert_eq!(content_type(&response), "application/json");
    assert_eq!(agent.list().await.len(), 0);
}

#[tokio::test]
async fn who_did_not_ask_for_events_gets_the_exec_alone() {
    let plain = Agent::with_args(&["--without", "create-stream"]);
    let agent = Agent::start();
    for (agent, accept) in
        [(&agent, "application/json"), (&agent, "*/*"), (&plain, "text/event-stream")]
    {
        let response = create(agent, accept, &shell("exit 3")).await;
        assert_eq!(content_type(&response), "application/json", "{accept}");
        let exec: ExecItem = within(response.json()).await.unwrap();
        until("it has ended", async || agent.get(&exec.id).await.exit_code == 3).await;
    }
    let response =
        create(&agent, "application/json, Text/Event-Stream;q=0.5", &shell("exit 3")).await;
    assert_eq!(content_type(&response), "text/event-stream");
}
