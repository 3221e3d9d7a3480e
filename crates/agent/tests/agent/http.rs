//! The HTTP interface: tokens, hosts, origins, errors.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{Agent, READONLY};

/// Sends a request that is to fail; gives the message.
async fn error(request: RequestBuilder, status: u16) -> String {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers().contains_key("www-authenticate"), status == 401);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["code"], status);
    let message = body["message"].as_str().unwrap().to_owned();
    assert!(!message.is_empty());
    message
}

#[tokio::test]
async fn every_error_is_json_that_says_what_was_wrong() {
    let agent = Agent::start();
    let execs = "/api/v1/execs";
    let message = error(agent.request(Method::GET, "/nope"), 404).await;
    assert!(message.contains("/nope"));
    for path in
        ["/api/v1/execs/77", "/api/v1/execs/77/io", "/api/v1/stream/execs/77/io", "/ws/v1/execs/77"]
    {
        assert!(error(agent.request(Method::GET, path), 404).await.contains("77"));
    }
    error(agent.request(Method::POST, "/api/v1/execs/77/start"), 404).await;
    error(agent.request(Method::DELETE, "/api/v1/execs/77"), 404).await;
    for (method, path) in
        [(Method::PUT, execs), (Method::POST, "/health"), (Method::PATCH, "/api/v1/execs/77")]
    {
        assert!(error(agent.request(method, path), 405).await.contains(path));
    }
    let post = || agent.request(Method::POST, execs);
    assert!(error(post().body("{}"), 415).await.contains("application/json"));
    let typed = || post().header("content-type", "application/json");
    error(typed().body("{"), 400).await;
    error(typed().body(""), 400).await;
    assert!(error(typed().body("{}"), 400).await.contains("command"));
    assert!(error(typed().body("{\"command\":7,\"args\":[]}"), 400).await.contains("string"));
    error(typed().body(vec![b' '; 17 * 1024 * 1024]), 413).await;
    let exec = agent.sh("true").await;
    for path in
        [format!("/api/v1/execs/{}/io", exec.id), format!("/api/v1/stream/execs/{}/io", exec.id)]
    {
        for wrong in ["x", "1.5", "", "99999999999999999999"] {
            let path = format!("{path}?lastSequence={wrong}");
            assert!(error(agent.request(Method::GET, &path), 400).await.contains("lastSequence"));
        }
    }
    let start = format!("/api/v1/execs/{}/start", exec.id);
    error(agent.request(Method::POST, &start).body("{"), 400).await;
    assert_eq!(
        agent
            .request(Method::GET, &format!("/ws/v1/execs/{}", exec.id))
            .send()
            .await
            .unwrap()
            .status(),
        400
    );
}

/// Reads an answer with a body of a known length; gives its head and its body.
fn read_answer(stream: &mut impl BufRead) -> (String, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "{head:?} is no whole head");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn a_request_that_cant_be_read_is_answered_with_its_status() {
    let agent = Agent::start();
    let address = agent.url.trim_start_matches("http://");
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(70_000));
    let longer = format!("GET / HTTP/1.1\r\nx: {}\r\n", "x".repeat(70_000));
    let fields = "x: x\r\n".repeat(200);
    let many = format!("GET / HTTP/1.1\r\n{fields}");
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    for (status, head) in [
        (400, "nonsense\r\n"),
        (400, "GET / HTTP/1.1\r\nx y: z\r\n"),
        (431, &long),
        (431, &longer),
        (431, &many),
    ] {
        // As the first request of a connection, and after others.
        for before in 0..3 {
            let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
            for _ in 0..before {
                stream.get_mut().write_all(health.as_bytes()).unwrap();
                assert!(read_answer(&mut stream).1.contains("sandpipe-agent"));
            }
            write!(stream.get_mut(), "{head}Host: {address}\r\n\r\n").unwrap();
            let (head, body) = read_answer(&mut stream);
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            assert!(head.contains("connection: close\r\n"), "{head}");
            assert_eq!(body, "");
        }
    }
}

#[tokio::test]
async fn an_answer_is_not_lost_on_a_client_that_is_still_sending() {
    let agent = Agent::start();
    let address = agent.url.trim_start_matches("http://");
    let create = format!("POST /api/v1/execs HTTP/1.1\r\nHost: {address}\r\n");
    let chunked = format!("{create}Transfer-Encoding: chunked\r\n\r\n4000\r\n");
    for (status, head) in [(400, "nonsense\r\n"), (401, chunked.as_str())] {
        let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        // What is sent after the answer is what would make the system forget the answer.
        stream.fill_buf().unwrap();
        for _ in 0..64 {
            stream.get_mut().write_all(&[b'x'; 16_384]).unwrap();
        }
        let (head, _) = read_answer(&mut stream);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(stream.fill_buf().unwrap().is_empty());
    }
}

#[tokio::test]
async fn requests_need_a_token() {
    let agent = Agent::start();
    let exec = agent.sh("true").await;
    for path in [
        "/api/v1/execs",
        &format!("/api/v1/execs/{}/io", exec.id),
        &format!("/ws/v1/execs/{}", exec.id),
    ] {
        error(agent.anonymous(Method::GET, path), 401).await;
        error(agent.anonymous(Method::GET, path).bearer_auth("wrong"), 401).await;
        error(agent.anonymous(Method::GET, path).header("authorization", "Basic YTpi"), 401).await;
    }
    // A token in the query is for WebSockets only: addresses end up in logs.
    let path = format!("/api/v1/execs?token={}", crate::support::ADMIN);
    error(agent.anonymous(Method::GET, &path), 401).await;
    // The scheme's case does not matter.
    let lower = format!("bearer {}", crate::support::ADMIN);
    let request = agent.anonymous(Method::GET, "/api/v1/execs").header("authorization", lower);
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_read_only_token_reads_and_nothing_else() {
    let agent = Agent::start();
    let exec = agent.sh("sleep 60").await;
    let id = &exec.id;
    let with = |method, path: &str| agent.anonymous(method, path).bearer_auth(READONLY);
    for path in [
        "/api/v1/execs",
        "/api/v1/stream/execs",
        &format!("/api/v1/execs/{id}"),
        &format!("/api/v1/execs/{id}/io"),
        &format!("/api/v1/stream/execs/{id}/io"),
    ] {
        assert_eq!(with(Method::GET, path).send().await.unwrap().status(), 200, "{path}");
    }
    for (method, path) in [
        (Method::POST, "/api/v1/execs"),
        (Method::POST, &format!("/api/v1/execs/{id}/start")),
        (Method::POST, &format!("/api/v1/execs/{id}/io")),
        (Method::DELETE, &format!("/api/v1/execs/{id}")),
    ] {
        error(with(method, path), 403).await;
    }
    assert_eq!(agent.get(id).await.exit_code, -1);
}

#[tokio::test]
async fn only_its_own_hosts_are_served() {
    let agent = Agent::with_args(&["--allow-host", "agent.example"]);
    let port = agent.url.rsplit(':').next().unwrap().to_owned();
    let health = |host: &str| agent.anonymous(Method::GET, "/health").header("host", host);
    for host in ["127.0.0.1", "localhost", &format!("localhost:{port}"), "agent.example:80"] {
        assert_eq!(health(host).send().await.unwrap().status(), 200, "{host}");
    }
    for host in
        ["evil.example", &format!("evil.example:{port}"), "10.0.0.1", "127.0.0.1.evil.example"]
    {
        assert!(error(health(host), 403).await.contains("--allow-host"));
    }
    error(health("a b"), 400).await;
}

#[tokio::test]
async fn preflights_are_answered_for_allowed_origins_without_a_token() {
    let agent = Agent::with_args(&[
        "--allow-origin",
        "http://localhost:5173",
        "--allow-origin",
        "https://a.example",
    ]);
    let preflight = |origin: &str| {
        agent
            .anonymous(Method::OPTIONS, "/api/v1/execs")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type")
            .send()
    };
    for origin in ["http://localhost:5173", "https://a.example"] {
        let response = preflight(origin).await.unwrap();
        assert_eq!(response.status(), 200);
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_lowercase();
        assert_eq!(header("access-control-allow-origin"), origin);
        for name in ["authorization", "content-type", "accept", "idempotency-key"] {
            assert!(header("access-control-allow-headers").contains(name));
        }
        for name in ["get", "post", "delete"] {
            assert!(header("access-control-allow-methods").contains(name));
        }
    }
    let response = preflight("https://evil.example").await.unwrap();
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    // A page must be able to read errors too.
    let request =
        agent.anonymous(Method::GET, "/api/v1/execs").header("origin", "https://a.example");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["access-control-allow-origin"], "https://a.example");
}

#[tokio::test]
async fn by_default_no_other_origin_is_allowed_and_a_star_allows_all() {
    for (agent, allowed) in
        [(Agent::start(), None), (Agent::with_args(&["--allow-origin", "*"]), Some("*"))]
    {
        let request = agent.anonymous(Method::GET, "/health").header("origin", "https://b.example");
        let response = request.send().await.unwrap();
        let header = response.headers().get("access-control-allow-origin");
        assert_eq!(header.map(|value| value.to_str().unwrap()), allowed);
    }
}

#[tokio::test]
async fn health_says_who_answers() {
    let agent = Agent::start();
    let response = agent.anonymous(Method::GET, "/health").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let health: Value = response.json().await.unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        health,
        json!({
            "agent": "sandpipe-agent",
            "version": version,
            "policy": "open",
            "features":
                ["idempotency-key", "signal", "stdin-eof", "stdin-bytes", "gap", "attach", "create-stream", "list-changes", "heartbeat", "frames", "contain", "policy", "files", "files-raw", "watch", "ports", "port-forward", "scoped-tokens"],
        })
    );
}

#[tokio::test]
async fn the_document_names_every_path() {
    let agent = Agent::start();
    let response = agent.anonymous(Method::GET, "/openapi.json").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let document: Value = response.json().await.unwrap();
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in [
        ("/api/v1/execs", vec!["get", "post"]),
        ("/api/v1/execs/{id}", vec!["delete", "get"]),
        ("/api/v1/execs/{id}/start", vec!["post"]),
        ("/api/v1/execs/{id}/io", vec!["get", "post"]),
        ("/api/v1/stream/execs", vec!["get"]),
        ("/api/v1/stream/execs/{id}/io", vec!["get"]),
        ("/ws/v1/execs/{id}", vec!["get"]),
        ("/health", vec!["get"]),
    ] {
        let described: Vec<_> = paths[path].as_object().unwrap().keys().collect();
        assert_eq!(described, methods, "{path}");
    }
    assert!(document["components"]["securitySchemes"]["bearerAuth"].is_object());
}
