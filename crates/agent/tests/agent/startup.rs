//! The command line, the tokens and the state directory.

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use nix::{sys::stat::Mode, unistd::mkfifo};
use reqwest::{Client, StatusCode};
use tokio::time::{sleep, timeout};

use crate::support::{Agent, agent_command, read_ready};

fn refused(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(!status.success());
    assert!(stdout.is_empty(), "nothing but the ready line goes to standard output");
    String::from_utf8(stderr).unwrap()
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, content: &str) {
    std::fs::write(path, content).unwrap();
    set_mode(path, 0o600);
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
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
    // Clients go on with it after a restart.
    assert_eq!(tokens[0], tokens[1]);
}

#[tokio::test]
async fn tokens_come_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let (admin, readonly) = (directory.path().join("admin"), directory.path().join("readonly"));
    write_secret(&admin, "from-a-file\n");
    write_secret(&readonly, "readonly-from-a-file\n");
    // A container's secret is a link.
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&admin, &link).unwrap();
    let agent = Agent::with(|command| {
        command.arg("--admin-token-file").arg(&link);
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
            write_secret(&file, content);
        }
        let mut command = agent_command(&directory.path().join("state"));
        let error = refused(command.arg("--admin-token-file").arg(&file));
        assert!(error.contains(file.to_str().unwrap()), "{error}");
    }
    let mut command = agent_command(&directory.path().join("state"));
    command.env("SANDPIPE_ADMIN_TOKEN", "same").env("SANDPIPE_READONLY_TOKEN", "same");
    assert!(refused(&mut command).contains("differ"));
}

/// Runs a command to its end, which has to come.
async fn run_to_end(command: &mut Command) -> Output {
    let (stdout, stderr) = (Stdio::piped(), Stdio::piped());
    let mut process = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    let end = async {
        while process.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let ended = timeout(Duration::from_secs(30), end).await;
    let _ended = process.kill();
    let output = process.wait_with_output().unwrap();
    assert!(ended.is_ok(), "it does not end: {output:?}");
    output
}

#[tokio::test]
async fn a_token_file_is_a_regular_file_of_some_length() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    // Nobody ever writes to it.
    let pipe = directory.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let large = directory.path().join("large");
    write_secret(&large, &"x".repeat(65_537));
    for (file, wrong) in [
        (pipe.as_path(), "no regular file"),
        (directory.path(), "no regular file"),
        (Path::new("/dev/zero"), "no regular file"),
        (&large, "more than 65536 bytes"),
    ] {
        let mut command = agent_command(&state);
        let output = run_to_end(command.arg("--admin-token-file").arg(file)).await;
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{}", file.display());
        assert!(error.contains(wrong) && error.contains(file.to_str().unwrap()), "{error}");
    }
    // Nor does it hold up the start where the agent's own would be.
    let own = state.join("admin-token");
    std::fs::rename(&pipe, &own).unwrap();
    let output = run_to_end(agent_command(&state).arg("--until-stdin-closes")).await;
    assert!(output.status.success() && own.is_file(), "{output:?}");
}

#[tokio::test]
async fn a_token_file_that_others_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    write_secret(&file, "from-a-file\n");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for (option, wrong) in [
        ("--admin-token-file", 0o644),
        ("--admin-token-file", 0o440),
        ("--readonly-token-file", 0o602),
    ] {
        set_mode(&file, wrong);
        for path in [&file, &link] {
            let mut command = agent_command(&directory.path().join("state"));
            command.env("SANDPIPE_ADMIN_TOKEN", crate::support::ADMIN);
            let error = refused(command.arg(option).arg(path));
            assert!(error.contains(&format!("`chmod 600 {}`", path.display())), "{error}");
            assert!(error.contains(&format!("mode {wrong:03o}")), "{error}");
        }
    }
    set_mode(&file, 0o400);
    let agent = Agent::with(|command| _ = command.arg("--admin-token-file").arg(&link));
    assert_eq!(status_with(&agent.url, "from-a-file").await, 200);
}

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
    std::os::unix::fs::symlink(&state, &link).unwrap();
    for path in [&state, &link, &parent.join("another")] {
        let error = refused(&mut agent_command(path));
        assert!(error.contains(&format!("`chmod go-w {}`", parent.display())), "{error}");
    }
    set_mode(&parent, 0o1777);
    starts(&link);
    set_mode(&parent, 0o755);
    starts(&state);
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(&state, Some(65_534), None).unwrap();
        let error = refused(&mut agent_command(&state));
        assert!(error.contains("65534") && error.contains("--state-dir"), "{error}");
        std::os::unix::fs::chown(&state, Some(0), None).unwrap();
        std::os::unix::fs::chown(&parent, Some(65_534), None).unwrap();
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
        ("--default-user", "3999999999"),
        ("--workspace", "/no/such/directory"),
    ] {
        let error = refused(agent_command(directory.path()).args([option, value]));
        assert!(error.contains(value), "{option} {value}: {error}");
    }
}

#[tokio::test]
async fn a_token_file_that_others_could_have_written_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let file = state.join("admin-token");
    let elsewhere = directory.path().join("elsewhere");
    std::fs::write(&elsewhere, "chosen-by-another\n").unwrap();
    std::fs::set_permissions(&elsewhere, PermissionsExt::from_mode(0o600)).unwrap();
    for case in ["readable by others", "a link", "no token"] {
        let _missing = std::fs::remove_file(&file);
        match case {
            "a link" => std::os::unix::fs::symlink(&elsewhere, &file).unwrap(),
            "no token" => std::fs::write(&file, "").unwrap(),
            _ => std::fs::write(&file, "chosen-by-another\n").unwrap(),
        }
        if case == "no token" {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        }
        let mut process = agent_command(&state).stdout(Stdio::piped()).spawn().unwrap();
        let ready = read_ready(&mut process);
        let url = ready["url"].as_str().unwrap();
        assert_eq!(status_with(url, "chosen-by-another").await, 401, "{case}");
        let token = std::fs::read_to_string(&file).unwrap();
        assert_eq!(status_with(url, token.trim()).await, 200, "{case}");
        assert_eq!(mode(&file), 0o600);
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "chosen-by-another\n");
}

#[tokio::test]
async fn features_that_are_turned_off_are_as_if_they_had_never_been() {
    let agent = Agent::with(|command| {
        command.args(["--without", "all"]);
    });
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

    let some = Agent::with(|command| {
        command.args(["--without", "gap", "--without", "signal"]);
    });
    let health = some.request(reqwest::Method::GET, "/health").send().await.unwrap();
    let health: serde_json::Value = health.json().await.unwrap();
    let left = serde_json::json!([
        "idempotency-key",
        "stdin-eof",
        "attach",
        "create-stream",
        "list-changes"
    ]);
    assert_eq!(health["features"], left);
    assert!(
        refused(agent_command(&some.state).args(["--without", "nonsense"])).contains("stdin-eof")
    );
}
