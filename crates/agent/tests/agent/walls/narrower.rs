use std::{fs, os::unix::fs::symlink};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{Walled, users, walls};
use crate::support::{Agent, children_of, command_line_of, lives, message_of, until};

fn create(policy: &str, script: &str) -> serde_json::Value {
    json!({ "command": "sh", "args": ["-c", script], "policy": policy })
}

async fn run(agent: &Agent, policy: &str, script: &str) -> (i32, String) {
    let exec = agent.create(create(policy, script)).await;
    let run = agent.finish(&exec.id).await;
    (run.exit_code(), run.output())
}

#[tokio::test]
async fn a_create_names_a_narrower_policy() {
    if !walls() {
        return;
    }
    for user in users() {
        for outer in ["open", "workspace"] {
            let walled = Walled::start_as(*user, &["--policy", outer]);
            let agent = &walled.agent;
            let is_written = "touch file 2>/dev/null && echo written; exit 3";
            assert_eq!(run(agent, "strict", is_written).await, (3, String::new()));
            assert_eq!(run(agent, "workspace", is_written).await, (3, "written\n".into()));
            let own = r#"{ "limits": { "openFiles": 32, "output": 100 }, "env": { "set": { "A": "b" } } }"#;
            assert_eq!(run(agent, own, "ulimit -n; echo $A").await, (0, "32\nb\n".into()));
            let (code, output) = run(agent, own, "yes").await;
            assert_eq!(
                (code, output.len() > 100, output.contains("limits.output")),
                (137, true, true)
            );
            // Each is a box of its own, also where it is named again.
            let left =
                run(agent, "strict", "setsid -f sleep 600; ls -d /proc/[0-9]* | wc -l").await;
            let again = run(agent, "strict", "ls -d /proc/[0-9]* | wc -l").await;
            assert_eq!((left.0, again.0), (0, 0));
            assert_eq!(run(agent, outer, "exit 4").await, (4, String::new()));
        }
    }
}

#[tokio::test]
async fn a_narrower_policy_passes_no_variable_that_the_other_withholds_for_its_value() {
    if !walls() {
        return;
    }
    let walled = Walled::start_with(
        users()[0],
        &["--policy", "workspace"],
        |_, _| {},
        |command, _| {
            command.env("MIRROR", "https://me:secret@mirror.example/").env("PLACE", "here");
        },
    );
    let script = "echo \"$MIRROR,$PLACE\"";
    assert_eq!(walled.agent.run(script).await.output(), ",here\n");
    let named = r#"{ "env": { "pass": ["MIRROR", "PLACE", "PATH"] } }"#;
    assert_eq!(run(&walled.agent, named, script).await, (0, ",here\n".into()));
    let walled = Walled::start_with(
        users()[0],
        &["--policy", "workspace", "--pass-env", "*", "--pass-env", "MIRROR"],
        |_, _| {},
        |command, _| {
            command.env("MIRROR", "https://me:secret@mirror.example/").env("PLACE", "here");
        },
    );
    let passed = (0, "https://me:secret@mirror.example/,here\n".into());
    assert_eq!(run(&walled.agent, named, script).await, passed);
}

#[tokio::test]
async fn a_policy_that_is_wider_or_none_is_refused_and_nothing_runs() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "offline", "--max-open-files", "64"]);
    for (policy, status, message) in [
        ("open", 403, "\"policy\": files: / is \"write\""),
        ("workspace", 403, "\"policy\": network is wider than in the agent's policy"),
        ("offline", 403, "\"policy\": limits.openFiles is wider than in the agent's policy"),
        (r#"{ "network": { "allow": ["a.example"] } }"#, 403, "\"policy\": network is wider"),
        (r#"{ "flies": {} }"#, 400, "\"policy\": flies: unknown field"),
        ("/etc/passwd", 400, "\"policy\": "),
        (
            r#"{ "extends": ["strict"], "files": { "read": ["./nowhere"] }, "limits": { "openFiles": 1 } }"#,
            400,
            "there is no ",
        ),
        (
            r#"{ "limits": { "cpu": 1, "openFiles": 1 }, "network": "none" }"#,
            400,
            "limits.cpu can't be held",
        ),
    ] {
        let answer = walled.agent.try_create(create(policy, "touch ran")).await;
        assert_eq!(answer.status(), status, "{policy}");
        let told = message_of(answer).await;
        assert!(told.contains(message), "{policy}: {told}");
    }
    assert!(!walled.workspace.join("ran").exists());
    assert_eq!(walled.agent.list().await.len(), 0);
    let without = Agent::with_args(&["--without", "policy"]);
    assert_eq!(without.try_create(create("strict", "true")).await.status(), 400);
}

#[tokio::test]
async fn narrower_policies_take_turns_for_a_few_boxes() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "open"]);
    let agent = &walled.agent;
    let policy = |count: u32| format!(r#"{{ "env": {{ "set": {{ "COUNT": "{count}" }} }} }}"#);
    let mut held = Vec::new();
    for count in 0..16 {
        held.push(agent.create(create(&policy(count), "sleep 600")).await.id);
    }
    let answer = agent.try_create(create(&policy(16), "true")).await;
    assert_eq!(answer.status(), 503);
    assert!(message_of(answer).await.contains("16 policies"));
    assert_eq!(run(agent, &policy(3), "exit 5").await, (5, String::new()));
    agent.delete(&held[0]).await;
    assert_eq!(run(agent, &policy(16), "echo $COUNT").await, (0, "16\n".into()));
    assert_eq!(run(agent, &policy(16), "echo $COUNT").await, (0, "16\n".into()));
}

#[tokio::test]
async fn a_policy_that_was_narrower_is_refused_when_its_paths_lead_elsewhere() {
    if !walls() {
        return;
    }
    let fill = |workspace: &std::path::Path, home: &std::path::Path| {
        fs::write(workspace.join("key"), "hunter2").unwrap();
        fs::write(workspace.join("other"), "").unwrap();
        symlink(workspace.join("key"), home.join("link")).unwrap();
    };
    for user in users() {
        let walled = Walled::start_with(
            *user,
            &["--policy", "workspace", "--hide", "./key"],
            fill,
            |_, _| {},
        );
        let agent = &walled.agent;
        let own_box = agent.box_pid();
        let narrower = r#"{ "files": { "hide": ["~/link"] } }"#;
        assert_ne!(run(agent, narrower, "cat key").await.0, 0);
        let link = walled.home.join("link");
        fs::remove_file(&link).unwrap();
        symlink(walled.workspace.join("other"), &link).unwrap();
        // Its box is built anew.
        let mut left = children_of(agent.pid());
        left.retain(|pid| *pid != own_box && command_line_of(*pid).contains("\0box\0"));
        assert_eq!(left.len(), 1);
        left.extend(children_of(left[0]));
        kill(Pid::from_raw(left[0].cast_signed()), Signal::SIGKILL).unwrap();
        until("the box is dead", async || !left.iter().any(|pid| lives(*pid))).await;
        let answer = agent.try_create(create(narrower, "cat key")).await;
        assert!(!answer.status().is_success(), "{user:?}: {}", answer.status());
        let told = message_of(answer).await;
        assert!(
            told.contains("/key is \"write\", where the agent's policy has \"hide\""),
            "{told}"
        );
    }
}
