//! Settings in the workspace that programs outside of the sandbox execute.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;

use super::{Walled, can_run, users, walls};
use crate::support::needs;

fn fill(workspace: &Path, _: &Path) {
    for directory in [".vscode", "packages/a/.husky", "node_modules/a/.idea", "shared"] {
        fs::create_dir_all(workspace.join(directory)).unwrap();
    }
    for file in [
        ".npmrc",
        ".vscode/tasks.json",
        "packages/a/.envrc",
        "packages/a/.husky/pre-commit",
        "node_modules/a/.npmrc",
        "shared/settings.json",
    ] {
        fs::write(workspace.join(file), "").unwrap();
    }
    symlink("shared", workspace.join(".claude")).unwrap();
}

const WRITES: [&str; 9] = [
    "echo script-shell=./evil >> .npmrc",
    "rm .npmrc",
    "echo evil > x && mv x .npmrc",
    "echo evil > .vscode/tasks.json",
    "mv .vscode old",
    "echo evil >> packages/a/.envrc",
    "echo evil > packages/a/.husky/pre-commit",
    "mv packages/a packages/b",
    "echo evil > .claude/settings.json",
];

#[tokio::test]
async fn those_that_are_there_are_read_only() {
    if !walls() {
        return;
    }
    for user in users() {
        for policy in ["workspace", "offline"] {
            let walled = Walled::start_with(*user, &["--policy", policy], fill, |_, _| {});
            walled.refuses(&WRITES).await;
            // Installers replace what they have installed.
            assert_eq!(walled.agent.run("rm -r node_modules").await.exit_code(), 0, "{user:?}");
        }
        let args = ["--extend", "!tool-settings"];
        for script in WRITES {
            let walled = Walled::start_with(*user, &args, fill, |_, _| {});
            let run = walled.agent.run(script).await;
            assert_eq!((run.exit_code(), run.output()), (0, String::new()), "{user:?} {script}");
        }
    }
}

#[tokio::test]
async fn their_user_goes_on_to_edit_them() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_with(*user, &["--policy", "workspace"], fill, |_, _| {});
        let [npmrc, new] = [".npmrc", "new"].map(|name| walled.workspace.join(name));
        fs::write(&new, "registry=https://registry.example\n").unwrap();
        fs::rename(&new, &npmrc).unwrap();
        let tasks = walled.workspace.join(".vscode/tasks.json");
        fs::write(tasks, "{}").unwrap();
        let run = walled.agent.run("cat .npmrc .vscode/tasks.json").await;
        let expected = "registry=https://registry.example\n{}";
        assert_eq!((run.stdout(), run.stderr()), (expected.into(), String::new()), "{user:?}");
        walled.refuses(&WRITES).await;
    }
}

#[tokio::test]
async fn one_that_a_command_makes_is_named_at_its_end() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_as(*user, &["--policy", "workspace"]);
        let agent = &walled.agent;
        // Nothing guards those that are missing.
        assert_eq!(agent.run("ls -A | grep -v '^[.]git$'").await.output(), "");
        let run = agent.run("echo made; echo x > .npmrc; mkdir -p .vscode; exit 3").await;
        let told = "sandpipe-agent: .vscode was made in the workspace: VS Code runs the tasks and programs that it names, unconfined. \
                    Read it before you use that there, or remove it.\n\
                    sandpipe-agent: .npmrc was made in the workspace: npm and pnpm run the shell that it names, unconfined. \
                    Read it before you use that there, or remove it.\n";
        let found = (run.exit_code(), run.stdout(), run.stderr());
        assert_eq!(found, (3, "made\n".into(), told.into()), "{user:?}");
        assert_eq!(agent.run("echo y >> .npmrc").await.output(), "", "{user:?}");
        // In a terminal, too, and by a process that the command has left.
        let exec = agent
            .create(json!({ "command": "sh", "args": ["-c", "echo > .envrc"], "pty": true }))
            .await;
        let stderr = agent.finish(&exec.id).await.stderr();
        assert!(stderr.starts_with("sandpipe-agent: .envrc was made"), "{user:?}: {stderr}");
        let next = walled.another(*user, &["--policy", "workspace"]);
        let run = next.run("echo evil >> .npmrc").await;
        assert!(run.stderr().contains("Read-only file system"), "{user:?}: {}", run.stderr());
    }
}

#[tokio::test]
async fn a_link_that_a_command_replaces_is_named_at_its_end() {
    if !walls() {
        return;
    }
    let walled = Walled::start_with(users()[0], &["--policy", "workspace"], fill, |_, _| {});
    assert_eq!(walled.agent.run("true").await.output(), "");
    let run = walled.agent.run("mkdir evil && rm .claude && ln -s evil .claude").await;
    let stderr = run.stderr();
    assert!(stderr.starts_with("sandpipe-agent: .claude was made in the workspace"), "{stderr}");
}

/// A project that has a dependency in a directory beside its own.
fn fill_project(workspace: &Path, _: &Path) {
    fs::create_dir(workspace.join("dependency")).unwrap();
    let manifests = [
        ("", r#"{ "name": "a", "version": "1.0.0", "dependencies": { "b": "./dependency" } }"#),
        ("dependency", r#"{ "name": "b", "version": "1.0.0" }"#),
    ];
    for (directory, manifest) in manifests {
        fs::write(workspace.join(directory).join("package.json"), manifest).unwrap();
    }
    fs::write(workspace.join(".npmrc"), "fund=false\naudit=false\nupdate-notifier=false\n")
        .unwrap();
}

#[tokio::test]
async fn npm_installs_where_its_settings_are_protected() {
    if !walls() || !needs(can_run("npm"), "npm") {
        return;
    }
    for user in users() {
        let walled = Walled::start_with(*user, &["--policy", "offline"], fill_project, |_, _| {});
        let agent = &walled.agent;
        for script in
            ["npm install", "npm ci", "npm pkg set type=module", "mkdir c && cd c && npm init -y"]
        {
            let run = agent.run(script).await;
            assert_eq!(run.exit_code(), 0, "{user:?} {script}: {}", run.output());
            assert!(!run.stderr().contains("sandpipe-agent"), "{user:?} {script}");
        }
        let run = agent.run("npm config set fund=true --location=project").await;
        assert_ne!(run.exit_code(), 0, "{user:?}");
        assert!(run.stderr().contains("EROFS"), "{user:?}: {}", run.stderr());
    }
}
