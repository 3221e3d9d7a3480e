//! What the agent logs of tokens: nothing.

use std::{fs::File, process::Command};

use reqwest::Method;
use serde_json::json;

use super::super::{
    support::{Agent, within},
    websocket::Socket,
};

#[tokio::test]
async fn a_token_is_never_logged() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut agent = Agent::with(|command| {
        // Its standard error goes into a file.
        let program = command.get_program().to_owned();
        let mut wrapped = Command::new("sh");
        let script = r#"log=$1; shift; exec "$@" 2>"$log""#;
        wrapped.args(["-c", script, "sh"]).arg(&log).arg(program).args(command.get_args());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                wrapped.env(name, value);
            }
        }
        wrapped.args(["--log", "trace"]).stdin(std::process::Stdio::null());
        *command = wrapped;
    });
    let exec = agent.sh("cat").await;
    let scoped = agent
        .scoped(json!({ "typeInto": [exec.id], "createCommands": true, "readFiles": "." }))
        .await;
    let query = format!("?token={}", scoped.token);
    let mut socket = Socket::open(&agent, &exec.id, &query).await;
    socket.input("seen\n").await;
    socket.until_output("seen\n").await;
    for path in ["/api/v1/execs", "/api/v1/policy", "/api/v1/nothing", super::PATH] {
        scoped.get(path).await;
        within(agent.anonymous(Method::GET, &format!("{path}{query}")).send()).await.unwrap();
    }
    // In place of its id.
    let wrong = agent.request(Method::DELETE, &format!("{}/{}", super::PATH, scoped.token));
    assert_eq!(within(wrong.send()).await.unwrap().status(), 404);
    scoped.revoke().await;
    scoped.get("/api/v1/execs").await;
    let token = scoped.token.clone();
    let secret = token.strip_prefix("sandpipe_").unwrap().to_owned();
    drop(scoped);
    agent.signal(nix::sys::signal::Signal::SIGTERM);
    agent.ended().await;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut File::open(&log).unwrap(), &mut text).unwrap();
    assert!(text.contains("/api/v1/nothing"), "the requests are logged: {text}");
    assert!(!text.contains(&secret));
}
