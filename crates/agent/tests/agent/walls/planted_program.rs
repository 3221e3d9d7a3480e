//! Programs that commands put where the agent would look for its own: npm and npx begin `PATH` with the workspace's `node_modules/.bin`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{Walled, users, walls};
use crate::support::{agent_command, children_of, lives, refused, set_mode, until};

/// The file that a planted program makes when it runs.
const RAN: &str = "ran";

/// Returns the script of a bubblewrap that makes the file [`RAN`] in a directory.
fn planted(root: &Path) -> String {
    format!("#!/bin/sh\n: > '{}'\nexit 1\n", root.join(RAN).display())
}

/// Puts a directory at the beginning of a command's `PATH`.
pub(super) fn search_first(command: &mut Command, directory: &Path) {
    let path = env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", directory.display()));
}

#[tokio::test]
async fn is_never_run_outside_when_it_is_in_node_modules() {
    if !walls() {
        return;
    }
    for user in users() {
        let args = ["--policy", "workspace"];
        let walled = Walled::start_with(
            *user,
            &args,
            |_, _| {},
            |command, home| {
                search_first(command, &home.with_file_name("workspace/node_modules/.bin"));
            },
        );
        let root = walled.home.parent().unwrap();
        let text = planted(root);
        let script = "mkdir -p node_modules/.bin && cd node_modules/.bin &&
            printf %s \"$PROGRAM\" > bwrap && chmod 755 bwrap";
        let exec = json!({
            "command": "sh", "args": ["-c", script], "env": { "PROGRAM": text },
        });
        let exec = walled.agent.create(exec).await;
        assert_eq!(walled.agent.finish(&exec.id).await.exit_code(), 0);
        assert_eq!(
            fs::read_to_string(walled.workspace.join("node_modules/.bin/bwrap")).unwrap(),
            text
        );
        // The agent that runs, and the next one.
        let narrower = json!({ "command": "sh", "args": ["-c", "exit 4"], "policy": "strict" });
        let exec = walled.agent.create(narrower).await;
        assert_eq!(walled.agent.finish(&exec.id).await.exit_code(), 4);
        let next = walled.another_with(*user, &args, |command| {
            search_first(command, &walled.workspace.join("node_modules/.bin"));
        });
        assert_eq!(next.run("exit 5").await.exit_code(), 5);
        assert!(!root.join(RAN).exists(), "{user:?}");
    }
}

#[tokio::test]
async fn is_not_run_when_it_takes_the_place_of_bubblewrap() {
    if !walls() {
        return;
    }
    for user in users() {
        let args = ["--policy", "strict"];
        let fill = |_: &Path, home: &Path| {
            fs::create_dir(home.join("tools")).unwrap();
            fs::copy(bubblewrap(), home.join("tools/bwrap")).unwrap();
        };
        let walled = Walled::start_with(*user, &args, fill, |command, home| {
            search_first(command, &home.join("tools"));
        });
        assert_eq!(walled.agent.run("exit 4").await.exit_code(), 4);
        let root = walled.home.parent().unwrap();
        let program = walled.home.join("tools/bwrap");
        fs::remove_file(&program).unwrap();
        fs::write(&program, planted(root)).unwrap();
        set_mode(&program, 0o755);
        let first = walled.agent.box_pid();
        let of_box: Vec<u32> = [first].into_iter().chain(children_of(first)).collect();
        kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL).unwrap();
        until("the box is dead", async || !of_box.iter().any(|pid| lives(*pid))).await;
        assert_eq!(walled.agent.run("exit 5").await.exit_code(), 5);
        let policy = r#"{ "extends": ["strict"], "env": { "pass": ["HOME"] } }"#;
        let narrower = json!({ "command": "sh", "args": ["-c", "exit 6"], "policy": policy });
        let exec = walled.agent.create(narrower).await;
        assert_eq!(walled.agent.finish(&exec.id).await.exit_code(), 6);
        assert!(!root.join(RAN).exists(), "{user:?}");
    }
}

#[test]
fn is_named_where_there_is_no_other() {
    let directory = tempfile::TempDir::new().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let workspace = root.join("workspace");
    for place in ["workspace/node_modules/.bin", "workspace/bin", "tools", "open"] {
        let place = root.join(place);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("bwrap"), planted(&root)).unwrap();
        set_mode(&place.join("bwrap"), 0o755);
    }
    set_mode(&root.join("open"), 0o777);
    let tools = root.join("tools");
    for (place, reason) in [
        ("workspace/node_modules/.bin", "it is in a directory node_modules".to_owned()),
        ("workspace/bin", format!("it is in {}, where commands work", workspace.display())),
        ("tools", format!("the policy lets commands write {}", tools.display())),
        ("open", "others could replace it: they may change".to_owned()),
    ] {
        let mut command = agent_command(&root.join("state"));
        command.arg("--workspace").arg(&workspace).args(["--policy", "workspace"]);
        command.arg("--allow-write").arg(&tools);
        command.env("PATH", root.join(place)).env("HOME", &tools);
        let error = refused(&mut command);
        let path = root.join(place).join("bwrap").display().to_string();
        assert!(error.contains(&format!("every bwrap in PATH is left out: {path:?} (")), "{error}");
        assert!(error.contains(&reason), "{error}");
        assert!(error.contains("apt-get install bubblewrap"), "{error}");
        assert!(!root.join(RAN).exists(), "{place}");
    }
}

/// Finds this machine's bubblewrap.
fn bubblewrap() -> PathBuf {
    let path = env::var_os("PATH").unwrap();
    let mut found = env::split_paths(&path).map(|directory| directory.join("bwrap"));
    found.find(|path| path.is_file()).unwrap()
}
