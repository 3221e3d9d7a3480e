//! The interface without a socket.

// A process of its own: the agent takes over the children of the one that it runs in.
#![allow(clippy::unwrap_used)]

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use clap::Parser;
use sandpipe_agent::{Agent, Options};
use serde_json::Value;
use tower::ServiceExt;

#[tokio::test]
async fn the_interface_works_without_a_socket() {
    let state = tempfile::tempdir().unwrap();
    let path = state.path().to_str().unwrap();
    let options = Options::parse_from(["sandpipe-agent", "--state-dir", path]);
    let agent = Agent::open(&options).unwrap();
    let token = std::fs::read_to_string(state.path().join("admin-token")).unwrap();
    let send = async |method: &str, path: &str, body: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", token.trim()))
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = agent.app().oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let body = r#"{"command":"sh","args":["-c","echo hello; exit 3"]}"#;
    let (status, created) = send("POST", "/api/v1/execs", body).await;
    assert_eq!(status, StatusCode::CREATED);
    let created: Value = serde_json::from_str(&created).unwrap();
    let path = format!("/api/v1/stream/execs/{}/io", created["id"].as_str().unwrap());
    let (status, stream) = send("GET", &path, "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(stream.contains(r#""output":"hello\n""#), "{stream}");
    assert!(stream.contains(r#""exitCode":3"#), "{stream}");
}
