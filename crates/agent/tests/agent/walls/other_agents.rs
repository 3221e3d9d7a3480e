//! Tokens and outputs of the other agents that run on this machine.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use super::{User, Walled, at_home, give, run_as, users, walls};
use crate::support::{Agent, agent_command, run_by};
use nix::unistd::geteuid;

/// Starts an agent that makes a token.
fn start_agent(walled: &Walled, user: User, state: &Path) -> Agent {
    Agent::with(|command| {
        command.arg("--state-dir").arg(state).env_remove("SANDPIPE_ADMIN_TOKEN");
        at_home(command, &walled.home);
        run_as(command, user);
    })
}

fn make_directory(user: User, path: &Path) {
    fs::create_dir(path).unwrap();
    if user == User::Ordinary && geteuid().is_root() {
        give(path);
    }
}

#[tokio::test]
async fn commands_see_no_state_of_other_agents() {
    if !walls() {
        return;
    }
    for user in users() {
        for policy in ["workspace", "offline", "strict"] {
            let walled = Walled::start_as(*user, &["--policy", policy]);
            for parent in [walled.home.join("other"), walled.workspace.join("other")] {
                make_directory(*user, &parent);
                let state = parent.join("agent");
                let script = format!("cd '{}' && ls -A; cat admin-token", state.display());
                // One that starts later is another, with another token.
                for _ in 0..2 {
                    let _other = start_agent(&walled, *user, &state);
                    let run = walled.agent.run(&script).await;
                    assert_eq!(run.exit_code(), 1, "{user:?} {policy}: {}", run.output());
                    assert!(!run.output().contains("execs"), "{user:?} {policy}: {}", run.output());
                }
            }
            // The workspace stays theirs, but for the token in it.
            let _other = start_agent(&walled, *user, &walled.workspace);
            let run = walled.agent.run("echo made > made; cat made admin-token").await;
            assert_eq!(run.exit_code(), 1, "{user:?} {policy}: {}", run.output());
            let is_made = run.output().starts_with("made\n");
            assert_eq!(is_made, policy != "strict", "{user:?} {policy}: {}", run.output());
        }
    }
}

#[tokio::test]
async fn an_agent_in_a_sandbox_and_locks_of_other_programs_are_left_alone() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_as(*user, &["--policy", "workspace"]);
        let program = agent_command(Path::new("/")).get_program().to_str().unwrap().to_owned();
        let inner = walled
            .agent
            .sh(&format!(
                "unset SANDPIPE_ADMIN_TOKEN SANDPIPE_READONLY_TOKEN; \
                 exec '{program}' --listen 127.0.0.1:0 --state-dir inner"
            ))
            .await;
        walled.agent.stream(&inner.id, "").await.until_output("url").await;
        let locked = walled.workspace.join("locked");
        make_directory(*user, &locked);
        fs::write(locked.join("file"), "seen").unwrap();
        let mut holder = Command::new("flock");
        holder.arg(&locked).args(["sh", "-c", "echo locked; cat"]);
        run_by(&mut holder, &["env"]);
        run_as(&mut holder, *user);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(holder.stdout.as_mut().unwrap());
        output.read_line(&mut line).unwrap();
        for _ in 0..2 {
            let run = walled.agent.run("test -s inner/admin-token && cat locked/file").await;
            assert_eq!(run.output(), "seen", "{user:?}");
        }
        drop(holder.stdin.take());
        holder.wait().unwrap();
        assert_eq!(walled.agent.delete(&inner.id).await.status(), 200);
    }
}
