//! The command line, the tokens and the state directory.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use reqwest::{Client, StatusCode};

use crate::support::{Agent, agent_command, read_ready};

fn refused(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(!status.success());
    assert!(stdout.is_empty(), "nothing but the ready line goes to standard output");
    String::from_utf8(stderr).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

async fn status_with(url: &str, token: &str) -> StatusCode {
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("{url}/api/v1/execs")).bearer_auth(token);
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn without_a_token_it_makes_one_that_only_its_user_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("a/b");
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let mut process = agent_command(&state).stdout(Stdio::piped()).spawn().unwrap();
        let ready = read_ready(&mut process);
        let file = Path::new(ready["adminTokenFile"].as_str().unwrap()).to_owned();
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(&state), 0o700);
        let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(token.len() >= 43, "256 bits");
        let url = ready["url"].as_str().unwrap();
        assert_eq!(status_with(url, &token).await, 200);
        assert_eq!(status_with(url, "wrong").await, 401);
        tokens.push(token);
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[tokio::test]
async fn tokens_come_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let (admin, readonly) = (directory.path().join("admin"), directory.path().join("readonly"));
    std::fs::write(&admin, "from-a-file\n").unwrap();
    std::fs::write(&readonly, "readonly-from-a-file\n").unwrap();
    let agent = Agent::with(|command| {
        command.arg("--admin-token-file").arg(&admin);
        command.arg("--readonly-token-file").arg(&readonly);
    });
    assert_eq!(status_with(&agent.url, "from-a-file").await, 200);
    assert_eq!(status_with(&agent.url, "readonly-from-a-file").await, 200);
    // The files count, not the environment.
    assert_eq!(status_with(&agent.url, crate::support::ADMIN).await, 401);
}

#[test]
fn a_token_file_without_a_token_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in [("empty", Some("\n")), ("words", Some("a b")), ("missing", None)] {
        let file = directory.path().join(name);
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let mut command = agent_command(&directory.path().join("state"));
        let error = refused(command.arg("--admin-token-file").arg(&file));
        assert!(error.contains(file.to_str().unwrap()), "{error}");
    }
    let mut command = agent_command(&directory.path().join("state"));
    command.env("SANDPIPE_ADMIN_TOKEN", "same").env("SANDPIPE_READONLY_TOKEN", "same");
    assert!(refused(&mut command).contains("differ"));
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
    let agent = Agent::with(|command| {
        command.args(["--listen", "0.0.0.0:0"]);
    });
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
        ("--workspace", "/no/such/directory"),
    ] {
        let error = refused(agent_command(directory.path()).args([option, value]));
        assert!(error.contains(value), "{option} {value}: {error}");
    }
}

#[tokio::test]
async fn output_that_an_earlier_agent_left_behind_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("execs/0123456789abcdef0123456789abcdef");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("0000.sse"), "").unwrap();
    // Not an agent's, although it is where an agent's would be.
    let foreign = directory.path().join("execs/mine");
    std::fs::create_dir(&foreign).unwrap();
    let mut process = agent_command(directory.path()).stdout(Stdio::piped()).spawn().unwrap();
    read_ready(&mut process);
    assert!(!left.exists());
    assert!(foreign.exists());
    process.kill().unwrap();
    process.wait().unwrap();
}
