//! Requests to the agent: target, headers, query, and bodies that are none. Nothing is run.

use std::{
    cell::OnceCell,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri},
};
use clap::Parser;
use sandpipe_agent::{Agent, Options};
use sandpipe_protocol::ErrorBody;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "request",
    check,
    seeds: &[
        b"GET /api/v1/execs/x1/io?lastSequence=1\nhost: localhost\nauthorization: Bearer admin\n\n",
        b"GET /api/v1/stream/execs/x1/io?lastSequence=-1\nhost: 127.0.0.1:80\nauthorization: Bearer admin\naccept: text/event-stream\n\n",
        b"POST /api/v1/execs\nhost: [::1]\nauthorization: Bearer admin\ncontent-type: application/json; x\nidempotency-key: k\naccept: */*, text/event-stream\n\n{",
        b"POST /api/v1/execs/x1/io\nhost: localhost\nauthorization: Bearer admin\ncontent-type: application/json\n\n{\"type\":\"stdin\",\"input\":\"\"}",
        b"GET /ws/v1/execs/x1?token=admin&lastSequence=0\nhost: localhost\nupgrade: websocket\nconnection: upgrade\nsec-websocket-version: 13\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\n\n",
        b"OPTIONS /api/v1/execs\nhost: localhost\norigin: http://example.org\naccess-control-request-method: POST\n\n",
        b"GET /\nhost: localhost\nif-none-match: W/\"a\", *\nrange: bytes=0-1\n\n",
    ],
    words: &[
        b"GET ", b"POST ", b"DELETE ", b"PUT ", b"/api/v1/execs", b"/api/v1/execs/x1", b"/io", b"/signal", b"/start", b"/health",
        b"/openapi.json", b"/ws/v1/execs/x1", b"?lastSequence=", b"?token=admin", b"&", b"%2F", b"%", b"%00", b"..", b"\n",
        b"\nhost: ", b"localhost", b"127.0.0.1", b":80", b"[::1]", b"user@", b"\nauthorization: Bearer admin", b"Bearer ", b"Basic ",
        b"\ncontent-type: application/json", b"\ncontent-length: 5", b"\nidempotency-key: ", b"\naccept: ", b"text/event-stream",
        b"\nrange: bytes=", b"\nif-none-match: ", b"\norigin: null", b"\n\n", b"{}", b"{\"signal\":\"SIGTERM\"}", b"\x7f", b"\xFF",
    ],
};

/// The record of an exec that has ended, and its output.
const RECORD: &str = r#"{"number":1,"item":{"id":"x1","command":"true","args":[],"status":"EXITED","pid":7,"pty":false,"exitCode":0},"lastEvent":{"type":"stdout","output":"","sequence":2,"exitCode":0}}"#;
const OUTPUT: &str = "data: {\"type\":\"stdout\",\"output\":\"a\",\"sequence\":1}\n\n";

/// An agent that has one exec, which has ended.
struct Place {
    runtime: Runtime,
    app: Router,
    _agent: Agent,
    _state: TempDir,
}

thread_local! {
    static PLACE: OnceCell<Place> = const { OnceCell::new() };
}

impl Place {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let exec = state.path().join("execs").join("x1");
        fs::create_dir_all(&exec).unwrap();
        fs::write(exec.join("exec.json"), RECORD).unwrap();
        fs::write(exec.join("0000.sse"), OUTPUT).unwrap();
        let token = state.path().join("token");
        fs::write(&token, "admin").unwrap();
        fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
        let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
        let options = [
            "sandpipe-agent",
            "--state-dir",
            &path(state.path()),
            "--admin-token-file",
            &path(&token),
        ];
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let agent = runtime.block_on(async { Agent::open(&Options::parse_from(options)).unwrap() });
        Self {
            app: agent.app(sandpipe_agent::Console::default()),
            runtime,
            _agent: agent,
            _state: state,
        }
    }
}

fn check(input: &[u8]) {
    let Some(request) = read(input) else {
        return;
    };
    let path = request.uri().path().to_owned();
    // It never ends.
    let endless = path == "/api/v1/stream/execs";
    PLACE.with(|place| {
        let Place { runtime, app, .. } = place.get_or_init(Place::new);
        runtime.block_on(async {
            let response = app.clone().oneshot(request).await.unwrap();
            let status = response.status();
            assert!(!status.is_server_error(), "{path:?} was answered with {status}");
            assert_ne!(status, StatusCode::CREATED, "{path:?}");
            if endless {
                return;
            }
            let content_type = response.headers().get("content-type").cloned();
            let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
            if status.is_client_error() && !body.is_empty() {
                assert_eq!(content_type, Some(HeaderValue::from_static("application/json")));
                let error: ErrorBody = serde_json::from_slice(&body).unwrap();
                assert_eq!(error.code, status.as_u16());
            }
        });
    });
}

/// The request that lines say: the method and the target, a header on each, and the body behind an empty
/// one. None where no client could send it, or it would change the exec.
fn read(input: &[u8]) -> Option<Request<Body>> {
    let mut rest = input;
    let mut line = || {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        line
    };
    let first = line();
    let space = first.iter().position(|byte| *byte == b' ')?;
    let method = Method::from_bytes(&first[..space]).ok()?;
    let uri = Uri::try_from(&first[space + 1..]).ok()?;
    let creates = uri.path() == "/api/v1/execs" && method == Method::POST;
    if method == Method::DELETE {
        return None;
    }
    let mut request = Request::builder().method(method).uri(uri);
    loop {
        let header = line();
        if header.is_empty() {
            break;
        }
        let colon = header.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&header[..colon]).ok()?;
        let value = HeaderValue::from_bytes(header[colon + 1..].trim_ascii()).ok()?;
        request = request.header(name, value);
    }
    let mut body = rest.to_vec();
    if creates {
        // Whatever it would run is not run.
        body.push(b'!');
    }
    request.body(body.into()).ok()
}
