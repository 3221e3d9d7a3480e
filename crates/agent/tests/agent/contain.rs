//! What a command has started is stopped with it, wherever it went; unless it was created to be outlived.
//!
//! An agent of root's has cgroups for that, where there are any; one of another user has marks.

use std::{
    os::unix::{fs::chown, process::CommandExt},
    process::Command,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{
    Agent, command_line_of, descendants_of, lives, marked, marked_script, needs, none_is_left,
    open_files, run_by, stat_of, until,
};

const NOBODY: u32 = 65534;

/// Leaves its group and session, and its parent. It goes on when it is told that all have: until then the end of a terminal's
/// session reaches them.
const ESCAPE: &str = "setsid sh -c 'setsid sleep 300 & setsid setsid sleep 300 &' & \
    (setsid setsid sh -c 'trap \"\" TERM HUP; sleep 300; :' &); setsid env -i sleep 301 & \
    echo $! ready; read go; ";

/// An agent of this user, and one that can have no cgroups.
fn agents() -> Vec<(Agent, Option<TempDir>)> {
    let mut agents = vec![(Agent::start(), None)];
    if geteuid().is_root() {
        let directory = TempDir::new().unwrap();
        chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let agent = Agent::with(|command| {
            command.args(["--workspace", "/", "--state-dir"]).arg(directory.path());
            command.uid(NOBODY).gid(NOBODY);
        });
        agents.push((agent, Some(directory)));
    }
    agents
}

/// Root's agent with the rights that it has in most containers: it can make no cgroups, and may not look into other users' processes.
fn agent_with_few_rights() -> Agent {
    let script = "mount -t tmpfs none /sys/fs/cgroup && few=-sys_ptrace,-perfmon,-sys_admin && \
        exec setpriv --bounding-set $few --inh-caps $few -- \"$@\"";
    Agent::with(|command| run_by(command, &["unshare", "--mount", "sh", "-c", script]))
}

/// Starts a script that lets descendants escape, and waits until they have.
async fn escaping(agent: &Agent, rest: &str, marker: &str, pty: bool, contain: bool) -> ExecItem {
    let mut body = marked_script(&format!("{ESCAPE}{rest}"), marker, pty);
    body["contain"] = json!(contain);
    let exec = agent.create(body).await;
    let output = agent.stream(&exec.id, "").await.until_output("ready").await;
    let without_mark = output.split_whitespace().next().unwrap().parse().unwrap();
    until("they are all there", async || {
        escaped(marker, &exec).len() == 3
            && command_line_of(without_mark) == "sleep\x00301\0"
            && stat_of(without_mark, 3) != Some(exec.pid)
    })
    .await;
    assert_eq!(agent.write(&exec.id, "\n").await.status(), 200);
    exec
}

/// Those with the mark that have escaped and stay: what starts them ends, and the one that ignores signals does so when its `sleep` is
/// there.
fn escaped(marker: &str, exec: &ExecItem) -> Vec<u32> {
    let mut found = marked(marker);
    found.retain(|pid| command_line_of(*pid) == "sleep\x00300\0");
    found.retain(|pid| stat_of(*pid, 3) != Some(exec.pid));
    found
}

#[tokio::test]
async fn a_stop_reaches_what_has_left_the_group_the_session_and_its_parent() {
    for (agent, _directory) in agents() {
        for pty in [false, true] {
            let marker = format!("stop {pty}");
            let exec = escaping(&agent, "wait; sleep 300", &marker, pty, true).await;
            assert_eq!(agent.signal_exec(&exec.id, "SIGTERM").await.status(), 200);
            agent.finish(&exec.id).await;
            assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Stopped);
            // Those that refuse are left, and count.
            assert_eq!(agent.signal_exec(&exec.id, "0").await.status(), 200);
            assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
            none_is_left(&marker).await;
            until("nothing is left", async || descendants_of(agent.box_pid()).is_empty()).await;
            until("it is gone", async || agent.signal_exec(&exec.id, "0").await.status() == 409)
                .await;
        }
    }
}

#[tokio::test]
async fn a_delete_reaches_what_its_command_left_behind() {
    for (agent, _directory) in agents() {
        for pty in [false, true] {
            let exec = escaping(&agent, "exit 3", "deleted", pty, true).await;
            // The command's own end stops nothing.
            assert_eq!(agent.finish(&exec.id).await.exit_code(), 3);
            assert_eq!(escaped("deleted", &exec).len(), 3);
            assert_eq!(agent.delete(&exec.id).await.status(), 200);
            // It was gone before the answer.
            assert_eq!(marked("deleted"), [] as [u32; 0]);
        }
    }
}

#[tokio::test]
async fn root_reaches_what_commands_of_other_users_left_behind() {
    let can_mount = Command::new("unshare").args(["--mount", "true"]).status();
    let can_mount = can_mount.is_ok_and(|status| status.success());
    if !needs(can_mount, "root, to run commands as another user without cgroups") {
        return;
    }
    for end in ["signal", "delete", "stop", "box"] {
        let mut agent = agent_with_few_rights();
        let marker = format!("other user {end}");
        let mut body = marked_script(
            "setsid sh -c 'setsid sleep 300 & sleep 300' & echo left",
            &marker,
            false,
        );
        body["user"] = json!("nobody");
        body["cwd"] = json!("/");
        let exec = agent.create(body).await;
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 0);
        until("they have left", async || marked(&marker).len() >= 3).await;
        match end {
            "signal" => {
                assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
            }
            "delete" => assert_eq!(agent.delete(&exec.id).await.status(), 200),
            "stop" => {
                agent.signal(Signal::SIGTERM);
                assert!(agent.ended().await.success());
            }
            _ => kill(Pid::from_raw(agent.box_pid().cast_signed()), Signal::SIGKILL).unwrap(),
        }
        none_is_left(&marker).await;
    }
}

#[tokio::test]
async fn the_ends_of_agent_and_box_reach_it_too() {
    for end in ["stop", "kill", "box"] {
        for (mut agent, _directory) in agents() {
            let markers = ["exits", "waits"].map(|command| format!("{command} {end}"));
            escaping(&agent, "exit 3", &markers[0], false, true).await;
            escaping(&agent, "wait", &markers[1], true, true).await;
            let process_box = agent.box_pid();
            match end {
                "stop" => {
                    agent.signal(Signal::SIGTERM);
                    agent.signal(Signal::SIGTERM);
                    assert!(agent.ended().await.success());
                    assert!(markers.iter().all(|marker| marked(marker).is_empty()));
                }
                "kill" => agent.kill(),
                _ => kill(Pid::from_raw(process_box.cast_signed()), Signal::SIGKILL).unwrap(),
            }
            for marker in &markers {
                none_is_left(marker).await;
            }
            until("the box is dead", async || !lives(process_box)).await;
        }
    }
}

#[tokio::test]
async fn what_is_not_contained_may_leave_and_live_on() {
    for end in ["kill", "delete", "stop", "box"] {
        for (mut agent, _directory) in agents() {
            let marker = format!("open {end}");
            let exec = escaping(&agent, "wait; sleep 300", &marker, end == "stop", false).await;
            let own = |pid: &u32| stat_of(*pid, 3) == Some(exec.pid);
            let left = escaped(&marker, &exec);
            match end {
                "kill" => {
                    assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
                    assert_eq!(agent.finish(&exec.id).await.exit_code(), 137);
                }
                "delete" => assert_eq!(agent.delete(&exec.id).await.status(), 200),
                "stop" => {
                    agent.signal(Signal::SIGTERM);
                    assert!(agent.ended().await.success());
                }
                _ => {
                    let process_box = Pid::from_raw(agent.box_pid().cast_signed());
                    kill(process_box, Signal::SIGKILL).unwrap();
                    agent.finish(&exec.id).await;
                }
            }
            until("its group is gone", async || !marked(&marker).iter().any(own)).await;
            assert!(left.iter().all(|pid| lives(*pid)));
            for pid in left {
                kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
            }
            none_is_left(&marker).await;
        }
    }
}

#[tokio::test]
async fn ten_thousand_that_fork_meanwhile_are_reached() {
    // Each leaves the group and session, and its parent; they go on as long as they live. The first thousand are told by the one that
    // starts them: to look for so many would take longer than to start all.
    let script = "perl -MPOSIX -e '$SIG{CHLD} = \"IGNORE\"; $| = 1; for my $number (1..10000) { \
                  if (fork) { print \"some\n\" if $number == 1000; next } \
                  setsid; exit if fork; sleep 300; exit } sleep 300'";
    for (agent, _directory) in agents() {
        let exec = agent.create(marked_script(script, "many", false)).await;
        agent.stream(&exec.id, "").await.until_output("some").await;
        assert!(!marked("many").is_empty());
        assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 137);
        none_is_left("many").await;
        assert_eq!(agent.delete(&exec.id).await.status(), 200);
        assert_eq!(agent.run("exit 3").await.exit_code(), 3);
    }
}

#[tokio::test]
async fn an_agent_without_the_extension_stops_groups_alone() {
    let agent = Agent::with_args(&["--without", "contain"]);
    let exec = escaping(&agent, "wait; sleep 300", "without", false, true).await;
    assert_eq!(agent.delete(&exec.id).await.status(), 200);
    let left = escaped("without", &exec);
    assert_eq!(left.len(), 3);
    for pid in left {
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    }
}

#[tokio::test]
async fn an_agent_leaves_no_cgroup() {
    for end in ["stop", "kill", "box"] {
        let mut agent = Agent::start();
        // It has a lock on each: those of other agents, which come and go meanwhile, are not its own.
        let own: Vec<_> = open_files(agent.pid())
            .into_iter()
            .filter(|path| path.starts_with("/sys/fs/cgroup"))
            .filter(|path| path.to_string_lossy().contains("/sandpipe-"))
            .collect();
        if !needs(!own.is_empty(), "cgroups of version 2 that this user may divide") {
            return;
        }
        let script = format!("mkdir '{}/x' && echo made; sleep 300", own[0].display());
        let exec = agent.sh(&script).await;
        agent.stream(&exec.id, "").await.until_output("made").await;
        let process_box = agent.box_pid();
        match end {
            "stop" => {
                agent.signal(Signal::SIGTERM);
                assert!(agent.ended().await.success());
            }
            "kill" => agent.kill(),
            _ => {
                kill(Pid::from_raw(process_box.cast_signed()), Signal::SIGKILL).unwrap();
                agent.finish(&exec.id).await;
            }
        }
        until("they are gone", async || !own.iter().any(|path| path.exists())).await;
    }
}

#[tokio::test]
async fn a_stop_ends_what_has_no_environment_no_parent_and_a_session_of_its_own() {
    let mut agents = agents();
    if geteuid().is_root() {
        agents.push((agent_with_few_rights(), None));
    }
    for (agent, _state) in agents {
        let script = "(env -i setsid sh -c 'echo $$ ready; exec sleep 300' &); sleep 300";
        let mut started: Vec<(String, u32)> = Vec::new();
        for script in [script, script, script.trim_end_matches("; sleep 300")] {
            let exec = agent.create(marked_script(script, "no environment", false)).await;
            let output = agent.stream(&exec.id, "").await.until_output("ready").await;
            let pid = output.split_whitespace().next().unwrap().parse().unwrap();
            started.push((exec.id, pid));
        }
        for stopped in 0..started.len() {
            agent.signal_exec(&started[stopped].0, "SIGKILL").await;
            until("it is gone", async || !lives(started[stopped].1)).await;
            for (_, pid) in &started[stopped + 1..] {
                assert!(lives(*pid), "what another command has started is left alone");
            }
        }
    }
}
