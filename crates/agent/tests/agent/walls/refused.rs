use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use tempfile::TempDir;

use super::{User, Walled, walls};
use crate::support::{agent_command, refused, run_by};

#[test]
fn an_agent_that_can_not_hold_its_policy_does_not_start() {
    let directory = TempDir::new().unwrap();
    let workspace = directory.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    let with = |args: &[&str], path: Option<&Path>| {
        let mut command = agent_command(&directory.path().join("state"));
        command.arg("--workspace").arg(&workspace).args(args);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        refused(&mut command)
    };
    let programs = directory.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let error = with(&["--policy", "workspace"], Some(&programs));
    assert!(error.contains("apt-get install bubblewrap"), "{error}");
    let fake = |script: &str| {
        let path = programs.join("bwrap");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    fake("echo bubblewrap 0.4.1");
    let error = with(&["--policy", "workspace"], Some(&programs));
    assert!(error.contains("is version 0.4.1, and a policy needs 0.5.0 or later"), "{error}");
    fake(
        "test \"$1\" = --version && echo bubblewrap 0.8.0 || { echo bwrap: No permissions to create new namespace >&2; exit 1; }",
    );
    let error = with(&["--policy", "workspace"], Some(&programs));
    assert!(
        error
            .contains("can't make namespaces here (bwrap: No permissions to create new namespace)"),
        "{error}"
    );
    for (args, message) in [
        (&["--policy", "workspaec"][..], "it is neither a preset (open, workspace,"),
        (&["--policy", "workspace", "--allow-write", "./dist"], "there is no "),
        (&["--max-memory", "1GiB"], "limits.memory can't be held"),
    ] {
        let error = with(args, None);
        assert!(error.contains(message), "{args:?}: {error}");
    }
    let policy = directory.path().join("policy.json");
    fs::write(&policy, r#"{ "limits": { "memroy": "1 GiB" } }"#).unwrap();
    let error = with(&["--policy", policy.to_str().unwrap()], None);
    assert!(error.contains("limits.memroy: unknown field `memroy`"), "{error}");
}

#[test]
fn an_agent_does_not_start_where_the_system_watches_no_files() {
    if !walls() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let workspace = directory.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    for kind in ["instances", "watches"] {
        let mut command = agent_command(&directory.path().join("state"));
        command.arg("--workspace").arg(&workspace).args(["--policy", "workspace"]);
        // As where a command has taken all that its user may have.
        let set = format!("echo 0 > /proc/sys/user/max_inotify_{kind}; exec \"$@\"");
        run_by(&mut command, &["unshare", "--user", "--map-root-user", "sh", "-e", "-c", &set]);
        let error = refused(&mut command);
        assert!(error.contains(&format!("raise fs.inotify.max_user_{kind}")), "{error}");
    }
}

#[tokio::test]
async fn the_home_of_root_may_be_closed_to_who_is_root_in_a_user_namespace() {
    if !walls() {
        return;
    }
    let change = |command: &mut Command| run_by(command, &["unshare", "--user", "--map-root-user"]);
    let args = ["--policy", "workspace"];
    let walled = Walled::start_with(User::Ordinary, &args, |_, _| {}, |command, _| change(command));
    assert_eq!(walled.agent.run("id -u; ls /root").await.stdout(), "0\n");
}
