//! The tokens of an agent, and the files that they come from.

use std::{
    os::unix::fs::{PermissionsExt, chown, lchown, symlink},
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{
    Agent, agent_command, answer_with, message_of, needs_root, read_ready, refused, run_to_end,
    set_mode, status_with,
};
use nix::{sys::stat::Mode, unistd::mkfifo};

/// A user, and a group that nobody is in.
const OTHER: u32 = 65_534;
const GROUP: u32 = 65_533;

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, content: &str) {
    std::fs::write(path, content).unwrap();
    set_mode(path, 0o600);
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn without_a_token_each_start_makes_one_that_only_its_user_can_read() {
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
        // Whoever listened on the port since may have the one of before.
        for wrong in tokens.iter().map(String::as_str).chain(["wrong"]) {
            let answer = answer_with(url, wrong).await;
            assert_eq!(answer.status(), 401);
            assert!(message_of(answer).await.contains("a new one with each start"));
        }
        tokens.push(token);
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

#[tokio::test]
async fn tokens_come_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let (admin, readonly) = (directory.path().join("admin"), directory.path().join("readonly"));
    write_secret(&admin, "from-a-file\n");
    write_secret(&readonly, "readonly-from-a-file\n");
    // A container's secret is a link.
    let link = directory.path().join("link");
    symlink(&admin, &link).unwrap();
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

#[test]
fn a_token_file_is_a_regular_file_of_some_length() {
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
        let output = run_to_end(command.arg("--admin-token-file").arg(file));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{}", file.display());
        assert!(error.contains(wrong) && error.contains(file.to_str().unwrap()), "{error}");
    }
    // Nor does it hold up the start where the agent's own would be.
    let own = state.join("admin-token");
    std::fs::rename(&pipe, &own).unwrap();
    let output = run_to_end(agent_command(&state).arg("--until-stdin-closes"));
    assert!(output.status.success() && own.is_file(), "{output:?}");
}

#[tokio::test]
async fn a_token_file_that_others_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    write_secret(&file, "from-a-file\n");
    let link = directory.path().join("link");
    symlink(&file, &link).unwrap();
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
fn a_token_file_that_others_could_replace_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (state, open) = (directory.path().join("state"), directory.path().join("open"));
    std::fs::create_dir(&open).unwrap();
    let safe = directory.path().join("token");
    write_secret(&safe, "from-a-file\n");
    write_secret(&open.join("token"), "from-a-file\n");
    symlink(&safe, open.join("link")).unwrap();
    symlink(directory.path(), open.join("way")).unwrap();
    let start = |path: &Path| {
        // It ends as soon as it has started.
        let mut command = agent_command(&state);
        run_to_end(command.arg("--until-stdin-closes").arg("--admin-token-file").arg(path))
    };
    for name in ["token", "link", "way/token"] {
        let file = open.join(name);
        for (mode, is_safe) in [(0o777, false), (0o1777, true), (0o755, true)] {
            set_mode(&open, mode);
            let output = start(&file);
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.success(), is_safe, "{mode:o} {name}: {error}");
            assert!(
                is_safe || error.contains(&format!("`chmod go-w {}`", open.display())),
                "{error}"
            );
        }
    }
    if !needs_root("give a link to another user") {
        return;
    }
    // In a sticky directory a link is its owner's to change. (Linux itself follows none such where all may
    // write.)
    chown(&open, None, Some(GROUP)).unwrap();
    set_mode(&open, 0o1770);
    lchown(open.join("link"), Some(OTHER), None).unwrap();
    let output = start(&open.join("link"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("of the user 65534"), "{error}");
}

#[test]
fn a_token_file_is_the_agents_users_or_roots() {
    if !needs_root("give files to other users") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Another user than root has to get there.
    set_mode(directory.path(), 0o755);
    let file = directory.path().join("token");
    write_secret(&file, "from-a-file\n");
    let program = agent_command(directory.path()).get_program().to_owned();
    let agent = directory.path().join("agent");
    std::fs::copy(program, &agent).unwrap();
    let start = |uid: u32, (owner, group, mode): (u32, u32, u32)| {
        chown(&file, Some(owner), Some(group)).unwrap();
        set_mode(&file, mode);
        let state = tempfile::tempdir().unwrap();
        chown(state.path(), Some(uid), None).unwrap();
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={uid}"), "--regid=65534", &format!("--groups={GROUP}")]);
        command.arg(&agent).args(["--listen=127.0.0.1:0", "--until-stdin-closes", "--state-dir"]);
        command.arg(state.path()).arg("--admin-token-file").arg(&file).current_dir("/");
        command.env_remove("SANDPIPE_READONLY_TOKEN").stdin(Stdio::null());
        let output = run_to_end(&mut command);
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    for (uid, file, wrong) in [
        (0, (0, 0, 0o600), None),
        // It chose the token.
        (0, (OTHER, OTHER, 0o600), Some("belongs to the user 65534")),
        (0, (OTHER, GROUP, 0o440), Some("belongs to the user 65534")),
        (OTHER, (OTHER, OTHER, 0o400), None),
        // By a group root gives it to the agent, and to nobody else by another one.
        (OTHER, (0, GROUP, 0o440), None),
        (OTHER, (0, 65_534, 0o640), None),
        (OTHER, (OTHER, GROUP, 0o440), Some("mode 440")),
        (0, (0, GROUP, 0o440), Some("mode 440")),
    ] {
        let (started, error) = start(uid, file);
        assert_eq!(started, wrong.is_none(), "{uid} {file:?}: {error}");
        assert!(wrong.is_none_or(|wrong| error.contains(wrong)), "{uid} {file:?}: {error}");
    }
}

#[tokio::test]
async fn what_is_in_place_of_its_own_token_file_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let file = state.join("admin-token");
    let elsewhere = directory.path().join("elsewhere");
    std::fs::write(&elsewhere, "chosen-by-another\n").unwrap();
    std::fs::set_permissions(&elsewhere, PermissionsExt::from_mode(0o600)).unwrap();
    for case in ["a token", "readable by others", "a link", "no token"] {
        let _missing = std::fs::remove_file(&file);
        match case {
            "a link" => symlink(&elsewhere, &file).unwrap(),
            "no token" => std::fs::write(&file, "").unwrap(),
            _ => std::fs::write(&file, "chosen-by-another\n").unwrap(),
        }
        if ["a token", "no token"].contains(&case) {
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
