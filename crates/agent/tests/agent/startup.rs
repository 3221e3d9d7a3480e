//! The command line and the state directory.

use std::{
    os::unix::fs::{chown, symlink},
    path::Path,
    process::{Command, Stdio},
};

use nix::unistd::geteuid;

use crate::support::{
    Agent, agent_command, program, read_ready, refused, run_to_end, set_mode, status_with,
};

#[test]
fn a_state_directory_that_others_may_change_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let parent = directory.path().join("parent");
    let state = parent.join("state");
    std::fs::create_dir_all(&state).unwrap();
    let starts = |path: &Path| {
        let mut process = agent_command(path).stdout(Stdio::piped()).spawn().unwrap();
        assert!(read_ready(&mut process)["url"].is_string());
        process.kill().unwrap();
        process.wait().unwrap();
    };
    for open in [0o770, 0o702, 0o777, 0o1777] {
        set_mode(&state, open);
        let error = refused(&mut agent_command(&state));
        assert!(error.contains(&format!("`chmod 700 {}`", state.display())), "{error}");
        assert!(!state.join("admin-token").exists());
    }
    set_mode(&state, 0o755);
    starts(&state);
    // Who may write to the one above could put another in its place.
    set_mode(&parent, 0o777);
    let link = directory.path().join("link");
    symlink(&state, &link).unwrap();
    for path in [&state, &link, &parent.join("another")] {
        let error = refused(&mut agent_command(path));
        assert!(error.contains(&format!("`chmod go-w {}`", parent.display())), "{error}");
    }
    // Who may write to where a link is could have it lead elsewhere.
    let open = directory.path().join("open");
    std::fs::create_dir(&open).unwrap();
    set_mode(&open, 0o777);
    symlink(directory.path(), open.join("way")).unwrap();
    let error = refused(&mut agent_command(&open.join("way/state")));
    assert!(error.contains(&format!("`chmod go-w {}`", open.display())), "{error}");
    set_mode(&parent, 0o1777);
    starts(&link);
    set_mode(&parent, 0o755);
    starts(&state);
    if geteuid().is_root() {
        chown(&state, Some(65_534), None).unwrap();
        let error = refused(&mut agent_command(&state));
        assert!(error.contains("65534") && error.contains("--state-dir"), "{error}");
        chown(&state, Some(0), None).unwrap();
        chown(&parent, Some(65_534), None).unwrap();
        assert!(refused(&mut agent_command(&state)).contains("65534"));
    }
}

#[test]
fn it_is_not_opened_to_the_network_without_a_token_of_the_users() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = agent_command(directory.path());
    let error = refused(command.args(["--listen", "0.0.0.0:0"]));
    assert!(error.contains("--admin-token-file"), "{error}");
}

#[tokio::test]
async fn with_a_token_of_the_users_it_is() {
    let agent = Agent::with_args(&["--listen", "0.0.0.0:0"]);
    assert!(agent.url.starts_with("http://127.0.0.1:"));
    assert_eq!(status_with(&agent.url, crate::support::ADMIN).await, 200);
}

#[test]
fn two_agents_never_share_a_state_directory() {
    let first = Agent::start();
    let error = refused(&mut agent_command(&first.state));
    assert!(error.contains("another agent") && error.contains("--state-dir"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let first = Agent::start();
    let address = first.url.trim_start_matches("http://");
    let directory = tempfile::tempdir().unwrap();
    let error = refused(agent_command(directory.path()).args(["--listen", address]));
    assert!(error.contains(address) && error.contains("in use"), "{error}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (option, value) in [
        ("--listen", "localhost"),
        ("--spool-limit", "1KiB"),
        ("--spool-limit", "much"),
        ("--allow-origin", "https://a.example/path"),
        ("--log", "a=b=c"),
        ("--default-user", "no-such-user-7"),
        ("--default-user", "3999999999"),
        ("--workspace", "/no/such/directory"),
    ] {
        let error = refused(agent_command(directory.path()).args([option, value]));
        assert!(error.contains(value), "{option} {value}: {error}");
    }
}

#[tokio::test]
async fn features_that_are_turned_off_are_as_if_they_had_never_been() {
    let agent = Agent::with_args(&["--without", "all"]);
    let get = async |path: &str| -> serde_json::Value {
        agent.request(reqwest::Method::GET, path).send().await.unwrap().json().await.unwrap()
    };
    assert_eq!(get("/health").await["features"], serde_json::json!([]));
    assert!(get("/openapi.json").await["paths"].get("/api/v1/execs/{id}/signal").is_none());
    let exec = agent.sh("read x").await;
    assert_eq!(agent.signal_exec(&exec.id, "TERM").await.status(), 404);
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 400);
    let one = agent.create_with_key("key", "true").await;
    let two = agent.create_with_key("key", "true").await;
    assert_eq!((one.status().as_u16(), two.status().as_u16()), (201, 201));

    let some = Agent::with_args(&["--without", "gap", "--without", "signal"]);
    let health = some.request(reqwest::Method::GET, "/health").send().await.unwrap();
    let health: serde_json::Value = health.json().await.unwrap();
    let left = serde_json::json!([
        "idempotency-key",
        "stdin-eof",
        "stdin-bytes",
        "attach",
        "create-stream",
        "list-changes",
        "heartbeat",
        "frames",
        "contain",
        "policy",
        "files",
        "files-raw",
        "watch",
        "ports",
        "port-forward",
        "scoped-tokens"
    ]);
    assert_eq!(health["features"], left);
    assert!(
        refused(agent_command(&some.state).args(["--without", "nonsense"])).contains("stdin-eof")
    );
}

#[tokio::test]
async fn a_health_check_tells_an_agent_that_is_well_from_one_that_is_not() {
    let check = |address: &str| {
        let mut check = Command::new(program());
        let output = run_to_end(check.args(["--listen", address, "--health-check"]));
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let agent = Agent::with_args(&["--listen", "0.0.0.0:0"]);
    let port = agent.url.rsplit(':').next().unwrap();
    for address in [format!("0.0.0.0:{port}"), format!("127.0.0.1:{port}")] {
        assert_eq!(check(&address), (Some(0), String::new()));
    }
    // One that answers with an error.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Write};
        let (mut connection, _) = other.accept().unwrap();
        let mut request = BufReader::new(connection.try_clone().unwrap()).lines();
        assert_eq!(request.next().unwrap().unwrap(), "GET /health HTTP/1.1");
        while !request.next().unwrap().unwrap().is_empty() {}
        write!(connection, "HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap();
    });
    let (code, message) = check(&address);
    server.join().unwrap();
    assert_eq!(code, Some(1));
    assert!(message.contains("503 Service Unavailable") && message.contains(&address), "{message}");
    // Nobody listens any more.
    let (code, message) = check(&address);
    assert_eq!(code, Some(1));
    assert!(message.contains("does not answer") && message.contains("refused"), "{message}");
}
