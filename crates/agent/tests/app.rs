//! The interface without a socket.

// A process of its own: the agent takes over the children of the one that it runs in.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, Request, Response, StatusCode, request::Builder},
};
use clap::Parser;
use rust_embed::RustEmbed;
use sandpipe_agent::{Agent, Console, Options};
use serde_json::Value;
use tower::ServiceExt;

/// A console of few bytes.
#[derive(RustEmbed)]
#[folder = "tests/console"]
struct Files;

fn open(state: &tempfile::TempDir) -> Agent {
    let path = state.path().to_str().unwrap();
    let options = Options::parse_from(["sandpipe-agent", "--state-dir", path]);
    let box_program = Some(env!("CARGO_BIN_EXE_sandpipe-agent").into());
    Agent::open(&Options { box_program, ..options }).unwrap()
}

fn request(method: &str, path: &str) -> Builder {
    Request::builder().method(method).uri(path).header("host", "localhost")
}

async fn answer(app: Router, request: Builder, body: &str) -> Response<Bytes> {
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let (head, body) = app.oneshot(request).await.unwrap().into_parts();
    Response::from_parts(head, to_bytes(body, usize::MAX).await.unwrap())
}

fn json(response: &Response<Bytes>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(response.body()).unwrap()
}

#[tokio::test]
async fn the_interface_works_without_a_socket() {
    let state = tempfile::tempdir().unwrap();
    let agent = open(&state);
    let token = std::fs::read_to_string(state.path().join("admin-token")).unwrap();
    let send = async |method: &str, path: &str, body: &str| {
        let request = request(method, path)
            .header("authorization", format!("Bearer {}", token.trim()))
            .header("content-type", "application/json");
        answer(agent.app(Console::default()), request, body).await
    };
    let body = r#"{"command":"sh","args":["-c","echo hello; exit 3"]}"#;
    let created = send("POST", "/api/v1/execs", body).await;
    assert_eq!(created.status(), StatusCode::CREATED);
    let path = format!("/api/v1/stream/execs/{}/io", json(&created)["id"].as_str().unwrap());
    let stream = send("GET", &path, "").await;
    assert_eq!(stream.status(), StatusCode::OK);
    let stream = std::str::from_utf8(stream.body()).unwrap();
    assert!(stream.contains(r#""output":"hello\n""#), "{stream}");
    assert!(stream.contains(r#""exitCode":3"#), "{stream}");
}

#[tokio::test]
async fn the_console_is_served_without_a_token_and_nothing_else_is() {
    let state = tempfile::tempdir().unwrap();
    let agent = open(&state);
    let send = async |request| answer(agent.app(Console::embedded::<Files>()), request, "").await;
    for (path, file, content_type, cache_control) in [
        ("/", "index.html", "text/html; charset=utf-8", "no-cache"),
        ("/icon.svg", "icon.svg", "image/svg+xml", "no-cache"),
        (
            "/assets/main-B4kpQ2xZ.js",
            "assets/main-B4kpQ2xZ.js.gz",
            "text/javascript; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        (
            "/assets/sandpipe-C7dQm1aY.wasm",
            "assets/sandpipe-C7dQm1aY.wasm",
            "application/wasm",
            "public, max-age=31536000, immutable",
        ),
    ] {
        let content = Files::get(file).unwrap().data;
        let check_headers = |headers: &HeaderMap| {
            assert_eq!(headers["cache-control"], cache_control);
            assert_eq!(headers["x-content-type-options"], "nosniff");
            assert_eq!(headers["referrer-policy"], "no-referrer");
            assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
            assert!(
                headers["content-security-policy"]
                    .to_str()
                    .unwrap()
                    .starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';")
            );
        };
        for method in ["GET", "HEAD"] {
            let response = send(request(method, path)).await;
            assert_eq!(response.status(), StatusCode::OK, "{method} {path}");
            check_headers(response.headers());
            assert_eq!(response.headers()["content-type"], content_type);
            let encoding = response.headers().get("content-encoding");
            assert_eq!(encoding.is_some_and(|value| value == "gzip"), file.contains(".gz"));
            assert_eq!(response.headers()["content-length"], content.len().to_string());
            let body = if method == "GET" { &content } else { &[][..] };
            assert_eq!(response.body(), body);

            let tag = response.headers()["etag"].to_str().unwrap();
            for known in [tag, "*", &format!("W/{tag}"), &format!("\"other\", {tag}")] {
                let again = send(request(method, path).header("if-none-match", known)).await;
                assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
                check_headers(again.headers());
                assert_eq!(again.headers()["etag"], tag);
                assert!(again.body().is_empty());
            }
            let other = request(method, path).header("if-none-match", "\"other\"");
            assert_eq!(send(other).await.status(), StatusCode::OK);
        }
        let posted = send(request("POST", path)).await;
        assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(json(&posted)["code"], 405);
        let elsewhere = Request::builder().uri(path).header("host", "evil.example");
        let elsewhere = send(elsewhere).await;
        assert_eq!(elsewhere.status(), StatusCode::FORBIDDEN);
        assert_eq!(json(&elsewhere)["code"], 403);
    }
    for path in ["/assets/", "/assets/main.js", "/execs", "/%2e%2e/Cargo.toml"] {
        let missing = send(request("GET", path)).await;
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
        assert!(json(&missing)["message"].as_str().unwrap().contains(path));
    }
    assert_eq!(json(&send(request("GET", "/health")).await)["agent"], "sandpipe-agent");
    let execs = send(request("GET", "/api/v1/execs")).await;
    assert_eq!(execs.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_agent_without_the_console_says_how_to_get_one() {
    let state = tempfile::tempdir().unwrap();
    let app = open(&state).app(Console::default());
    let response = answer(app, request("GET", "/"), "").await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert!(json(&response)["message"].as_str().unwrap().contains("npm run build"));
}
