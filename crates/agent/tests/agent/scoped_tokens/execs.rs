//! What a scoped token sees of execs, and does with them.

use std::collections::BTreeSet;

use reqwest::Method;
use sandpipe_protocol::{ExecItem, ExecListChanges, ExecListResponse};
use serde_json::{Value, json};

use super::{
    super::{
        support::{Agent, Events, message_of, within},
        websocket::Socket,
    },
    Scoped,
};

async fn ids(scoped: &Scoped<'_>) -> BTreeSet<String> {
    let list: ExecListResponse = scoped.get("/api/v1/execs").await.json().await.unwrap();
    list.execs.into_iter().map(|exec| exec.id).collect()
}

#[tokio::test]
async fn a_token_lists_what_it_may_read_and_another_exec_is_answered_like_none() {
    let agent = Agent::start();
    let (read, typed, other) =
        (agent.sh("true").await.id, agent.sh("cat").await.id, agent.sh("true").await.id);
    let scoped = agent.scoped(json!({ "readExecs": [read], "typeInto": [typed] })).await;
    assert_eq!(ids(&scoped).await, [read.clone(), typed.clone()].into());
    let none = "0".repeat(other.len());
    for (method, rest) in [
        (Method::GET, ""),
        (Method::GET, "/io"),
        (Method::POST, "/io"),
        (Method::POST, "/start"),
        (Method::POST, "/signal"),
        (Method::DELETE, ""),
    ] {
        let ask = async |id: &str| {
            let path = format!("/api/v1/execs/{id}{rest}");
            let response = scoped.send(method.clone(), &path, json!({ "signal": "SIGKILL" })).await;
            (response.status(), message_of(response).await.replace(id, "ID"))
        };
        let hidden = ask(&other).await;
        assert_eq!(hidden, ask(&none).await, "{method} {rest}");
        assert_eq!(hidden.0, 404);
    }
    // It neither ends nor changes what it may only read or type into.
    for id in [&read, &typed] {
        let path = format!("/api/v1/execs/{id}");
        let signal = json!({ "signal": "SIGKILL" });
        let refused = scoped.send(Method::POST, &format!("{path}/signal"), signal).await;
        assert_eq!(refused.status(), 403);
        assert_eq!(scoped.send(Method::DELETE, &path, json!({})).await.status(), 403);
    }
    assert_eq!(agent.list().await.len(), 3);
    for id in [
        read.strip_suffix(|_: char| true).unwrap(),
        &format!("{read}0"),
        "",
        ".",
        &format!("{read}%00"),
        &format!("{read}%2f..%2f{other}"),
    ] {
        let status = scoped.status(&format!("/api/v1/execs/{id}")).await;
        assert!([200, 404].contains(&status.as_u16()), "{id}: {status}");
        assert!(status == 404 || id.is_empty() || id == ".", "{id}: {status}");
    }
}

#[tokio::test]
async fn a_token_types_into_what_it_may_type_into() {
    let agent = Agent::start();
    let script = "read x; echo got $x; read y";
    let (read, typed) = (agent.sh(script).await.id, agent.sh(script).await.id);
    let scoped = agent.scoped(json!({ "readExecs": [read], "typeInto": [typed] })).await;
    let query = format!("?token={}", scoped.token);
    let mut socket = Socket::open(&agent, &read, &query).await;
    socket.input("a\n").await;
    assert!(socket.error().await.contains("typeInto"));
    let line = json!({ "type": "stdin", "input": "b\n" });
    let refused = scoped.send(Method::POST, &format!("/api/v1/execs/{read}/io"), line).await;
    assert_eq!(refused.status(), 403);
    let mut socket = Socket::open(&agent, &typed, &query).await;
    socket.input("c\n").await;
    socket.until_output("got c\n").await;
    let end = json!({ "type": "eof", "input": "" });
    let ended = scoped.send(Method::POST, &format!("/api/v1/execs/{typed}/io"), end).await;
    assert_eq!(ended.status(), 200);
    assert_eq!(agent.finish(&typed).await.exit_code(), 1);
    assert_eq!(agent.output_now(&read, "").await, []);
}

#[tokio::test]
async fn the_execs_that_a_token_creates_are_its_own() {
    let agent = Agent::start();
    let admins = agent.sh("sleep 60").await.id;
    let create = json!({ "command": "sleep", "args": ["60"] });
    let scoped = agent.scoped(json!({ "createCommands": true })).await;
    let other = agent.scoped(json!({ "createCommands": true })).await;
    let response = scoped.send(Method::POST, "/api/v1/execs", create.clone()).await;
    assert_eq!(response.status(), 201);
    let own = response.json::<ExecItem>().await.unwrap().id;
    assert_eq!(ids(&scoped).await, [own.clone()].into());
    assert_eq!(ids(&other).await, [].into());
    let path = format!("/api/v1/execs/{own}");
    assert_eq!(scoped.status(&path).await, 200);
    assert_eq!(other.status(&path).await, 404);
    assert_eq!(scoped.status(&format!("/api/v1/execs/{admins}")).await, 404);
    let resize = json!({ "type": "stdin", "input": "x" });
    assert_eq!(scoped.send(Method::POST, &format!("{path}/io"), resize).await.status(), 200);
    let signal = json!({ "signal": "SIGTERM" });
    for (scoped, status) in [(&other, 404), (&scoped, 200)] {
        let sent = scoped.send(Method::POST, &format!("{path}/signal"), signal.clone()).await;
        assert_eq!(sent.status(), status);
    }
    assert_eq!(agent.finish(&own).await.exit_code(), 143);
    assert_eq!(scoped.send(Method::DELETE, &path, json!({})).await.status(), 200);
    // A key stands for an exec of the same token alone.
    let create_with_key = async |scoped: &Scoped<'_>| {
        let request =
            scoped.request(Method::POST, "/api/v1/execs").header("idempotency-key", "key");
        let response = within(request.json(&create).send()).await.unwrap();
        (response.status().as_u16(), response.json::<ExecItem>().await.unwrap().id)
    };
    let body = agent.request(Method::POST, "/api/v1/execs").header("idempotency-key", "key");
    let of_admin: ExecItem = within(body.json(&create).send()).await.unwrap().json().await.unwrap();
    let (status, first) = create_with_key(&scoped).await;
    assert_eq!(status, 201);
    assert_eq!(create_with_key(&scoped).await, (200, first.clone()));
    let (status, second) = create_with_key(&other).await;
    assert_eq!(status, 201);
    assert_eq!(BTreeSet::from([of_admin.id, first, second]).len(), 3);
    // It makes no tokens, and none goes on when its token is gone.
    let more = json!({ "createCommands": true, "expiresInMs": 1000 });
    assert_eq!(scoped.send(Method::POST, super::PATH, more).await.status(), 403);
}

#[tokio::test]
async fn the_stream_of_the_list_has_what_the_token_may_read_alone() {
    let agent = Agent::start();
    let (read, other) = (agent.sh("read x").await.id, agent.sh("read x").await.id);
    let scoped = agent.scoped(json!({ "readExecs": [read], "createCommands": true })).await;
    let mut events = Events::in_answer(scoped.get("/api/v1/stream/execs?changes=true").await);
    let list: ExecListResponse = serde_json::from_str(&events.next().await.unwrap()).unwrap();
    assert_eq!(list.execs.iter().map(|exec| &exec.id).collect::<Vec<_>>(), [&read]);
    agent.delete(&other).await;
    let third = agent.sh("true").await.id;
    let create = json!({ "command": "sleep", "args": ["60"] });
    let own = scoped.send(Method::POST, "/api/v1/execs", create).await;
    let own = own.json::<ExecItem>().await.unwrap().id;
    agent.delete(&third).await;
    agent.delete(&own).await;
    agent.delete(&read).await;
    let (mut changed, mut removed) = (BTreeSet::new(), BTreeSet::new());
    while removed.len() < 2 {
        let event: Value = serde_json::from_str(&events.next().await.unwrap()).unwrap();
        let event: ExecListChanges = serde_json::from_value(event).unwrap();
        changed.extend(event.changed.into_iter().map(|exec| exec.id));
        removed.extend(event.removed);
    }
    assert_eq!(removed, [read.clone(), own.clone()].into());
    assert!(changed.is_subset(&[read, own].into()), "{changed:?}");
}
