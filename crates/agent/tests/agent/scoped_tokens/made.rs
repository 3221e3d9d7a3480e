//! How tokens are made, listed and revoked.

use reqwest::Method;
use sandpipe_protocol::TokenListResponse;
use serde_json::{Value, json};

use super::{
    super::{
        files::Space,
        support::{Agent, message_of, within},
    },
    PATH,
};

async fn list(agent: &Agent) -> TokenListResponse {
    let response = within(agent.request(Method::GET, PATH).send()).await.unwrap();
    within(response.json()).await.unwrap()
}

#[tokio::test]
async fn tokens_are_listed_by_their_scopes_without_the_token() {
    let space = Space::start();
    let agent = &space.agent;
    std::fs::create_dir(space.path("dir")).unwrap();
    let exec = agent.sh("true").await.id;
    let first = agent.scoped(json!({ "readExecs": [exec], "readFiles": "." })).await;
    let second = agent
        .scoped(json!({ "typeInto": [exec], "createCommands": true, "writeFiles": "dir" }))
        .await;
    let response = within(agent.request(Method::GET, PATH).send()).await.unwrap();
    let text = response.text().await.unwrap();
    assert!(!text.contains(&first.token) && !text.contains(&second.token), "{text}");
    let TokenListResponse { tokens } = serde_json::from_str(&text).unwrap();
    let [newest, oldest] = &tokens[..] else { panic!("{tokens:?}") };
    assert_eq!((&newest.id, &oldest.id), (&second.id, &first.id));
    assert_eq!(oldest.read_execs.as_deref(), Some(&[exec.clone()][..]));
    assert_eq!(oldest.read_files.as_deref(), space.workspace.to_str());
    assert_eq!(newest.type_into.as_deref(), Some(&[exec][..]));
    assert_eq!(newest.write_files.as_deref(), space.path("dir").to_str());
    assert_eq!((newest.create_commands, oldest.create_commands), (Some(true), None));
    assert!(oldest.expires_at > oldest.created_at);
    first.revoke().await;
    assert_eq!(list(agent).await.tokens, std::slice::from_ref(newest));
    // A token is no id.
    for id in [&first.id, &second.token] {
        let revoke = agent.request(Method::DELETE, &format!("{PATH}/{id}")).send();
        let response = within(revoke).await.unwrap();
        assert_eq!(response.status(), 404);
        assert!(!message_of(response).await.contains(id));
    }
}

#[tokio::test]
async fn a_token_that_says_not_what_it_is_for_is_refused() {
    let space = Space::start();
    let workspace = space.workspace.to_str().unwrap();
    std::fs::write(space.path("file"), "").unwrap();
    std::fs::create_dir(space.path("dir")).unwrap();
    std::os::unix::fs::symlink("dir", space.path("link")).unwrap();
    let minute = 60_000;
    let many = vec!["x"; 1001];
    for (request, expected) in [
        (json!({ "createCommands": true }), "expiresInMs"),
        (json!({ "expiresInMs": 0, "createCommands": true }), "from 1 to 2592000000"),
        (json!({ "expiresInMs": 2_592_000_001_u64, "createCommands": true }), "from 1 to"),
        (json!({ "expiresInMs": minute }), "no scope"),
        (json!({ "expiresInMs": minute, "createCommands": false, "readExecs": [] }), "no scope"),
        (json!({ "expiresInMs": minute, "readExec": ["x"] }), "readExec"),
        (json!({ "expiresInMs": minute, "readExecs": ["x"] }), "there is no exec \"x\""),
        (json!({ "expiresInMs": minute, "typeInto": many }), "1001 ids"),
        (json!({ "expiresInMs": minute, "readFiles": "" }), "name a directory"),
        (json!({ "expiresInMs": minute, "readFiles": "none" }), "No such file"),
        (json!({ "expiresInMs": minute, "readFiles": "file" }), "Not a directory"),
        (json!({ "expiresInMs": minute, "readFiles": "link" }), "symbolic link"),
        (json!({ "expiresInMs": minute, "writeFiles": "link/../dir" }), "\"..\""),
        (json!({ "expiresInMs": minute, "writeFiles": format!("{workspace}/..") }), "\"..\""),
    ] {
        let response = space.agent.ask_for_token(request.clone()).await;
        assert_eq!(response.status(), 400, "{request}");
        let message = message_of(response).await;
        assert!(message.contains(expected), "{request}: {message}");
    }
    assert_eq!(list(&space.agent).await.tokens, []);
}

#[tokio::test]
async fn tokens_end_with_the_agent() {
    let mut agent = Agent::start();
    let token = agent.scoped(json!({ "createCommands": true })).await.token;
    let status = async |agent: &Agent| {
        let request = agent.anonymous(Method::GET, "/api/v1/execs").bearer_auth(&token);
        within(request.send()).await.unwrap().status()
    };
    assert_eq!(status(&agent).await, 200);
    agent.signal(nix::sys::signal::Signal::SIGTERM);
    agent.ended().await;
    agent.restart();
    assert_eq!(status(&agent).await, 401);
}

#[tokio::test]
async fn an_agent_without_the_feature_makes_no_tokens() {
    let agent = Agent::with_args(&["--without", "scoped-tokens"]);
    let response =
        agent.ask_for_token(json!({ "expiresInMs": 1000, "createCommands": true })).await;
    assert_eq!(response.status(), 404);
    let health = within(agent.anonymous(Method::GET, "/health").send()).await.unwrap();
    let health: Value = within(health.json()).await.unwrap();
    assert!(!health["features"].as_array().unwrap().contains(&json!("scoped-tokens")));
}
