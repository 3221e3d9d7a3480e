//! Creating, starting and deleting.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    process::{Child, Command},
    time::Duration,
};

use nix::{sys::signal::Signal, unistd::Pid};
use sandpipe_protocol::ExecStatus;
use serde_json::{Value, json};

use crate::support::{
    Agent, lives, message_of, needs, needs_root, run_to_end, stat_of, state_of, until,
};

/// Starts a script that writes process ids, and waits for them.
async fn pids(agent: &Agent, script: &str, count: usize) -> (String, Vec<u32>) {
    pids_of(agent, json!({ "command": "sh", "args": ["-c", script] }), count).await
}

async fn pids_of(agent: &Agent, request: Value, count: usize) -> (String, Vec<u32>) {
    let exec = agent.create(request).await;
    let mut stream = agent.stream(&exec.id, "").await;
    let mut output = String::new();
    while output.lines().filter(|line| !line.is_empty()).count() < count || !output.ends_with('\n')
    {
        output += &stream.next_output().await.unwrap().output;
    }
    (exec.id, output.lines().map(|line| line.parse().unwrap()).collect())
}

#[tokio::test]
async fn a_created_exec_runs_when_it_is_started() {
    let agent = Agent::start();
    let request = json!({ "command": "sh", "args": ["-c", "read x; exit 3"], "autostart": false });
    let exec = agent.create(request).await;
    assert_eq!((exec.status, exec.pid, exec.exit_code), (ExecStatus::Created, 0, -1));
    let started = agent.start_exec(&exec.id).await;
    assert_eq!(started.status(), 200);
    let started: sandpipe_protocol::ExecItem = started.json().await.unwrap();
    assert_eq!(started.status, ExecStatus::Running);
    // Once more changes nothing.
    let again = agent.start_exec(&exec.id).await;
    assert_eq!(again.status(), 200);
    assert_eq!(again.json::<sandpipe_protocol::ExecItem>().await.unwrap().pid, started.pid);
    agent.write(&exec.id, "\n").await;
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 3);
    assert_eq!(agent.start_exec(&exec.id).await.status(), 409);
}

#[tokio::test]
async fn starting_twice_at_once_runs_the_command_once() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "echo", "args": ["x"], "autostart": false })).await;
    let starts = tokio::join!(
        agent.start_exec(&exec.id),
        agent.start_exec(&exec.id),
        agent.start_exec(&exec.id)
    );
    for start in [starts.0, starts.1, starts.2] {
        assert!(start.status() == 200 || start.status() == 409);
    }
    assert_eq!(agent.finish(&exec.id).await.output(), "x\n");
}

#[tokio::test]
async fn the_list_is_newest_first() {
    let agent = Agent::start();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, agent.sh("true").await.id);
    }
    let listed: Vec<_> = agent.list().await.into_iter().map(|exec| exec.id).collect();
    assert_eq!(listed, ids);
}

#[tokio::test]
async fn deleting_kills_the_whole_group_and_forgets_the_exec() {
    let agent = Agent::start();
    let script = "trap '' TERM HUP; sh -c 'trap \"\" TERM; echo $$; sleep 60' & echo $$; wait";
    let (id, pids) = pids(&agent, script, 2).await;
    assert!(pids.iter().all(|pid| lives(*pid)));
    let mut stream = agent.stream(&id, "?lastSequence=-1").await;
    stream.next_output().await.unwrap();
    let response = agent.delete(&id).await;
    assert_eq!(response.status(), 200);
    message_of(response).await;
    // It was gone before the answer.
    assert!(!pids.iter().any(|pid| lives(*pid)));
    assert_eq!(agent.list().await, []);
    assert_eq!(agent.delete(&id).await.status(), 404);
    // The readers' streams end, without an exit code.
    assert_eq!(stream.next_output().await, None);
    assert!(!agent.state.join("execs").join(&id).exists());
}

#[tokio::test]
async fn deleting_also_kills_what_outlived_the_leader() {
    let agent = Agent::start();
    let (id, pids) = pids(&agent, "sleep 60 & echo $!", 1).await;
    agent.finish(&id).await;
    assert!(lives(pids[0]));
    assert_eq!(agent.delete(&id).await.status(), 200);
    assert!(!lives(pids[0]));
}

#[tokio::test]
async fn deleting_does_not_touch_a_stranger_that_got_the_number_of_the_group() {
    let agent = Agent::start();
    // The member's parent is outside of the group and lets the system reap it: the agent is told
    // nothing.
    let script =
        "(sleep 60 & echo $!; exec env --ignore-signal=CHLD setsid sleep 60) & read x; exit 0";
    let request = json!({ "command": "sh", "args": ["-c", script], "contain": false });
    let (id, members) = pids_of(&agent, request, 1).await;
    let member = members[0];
    let exec = agent.get(&id).await;
    let parent = stat_of(member, 1).unwrap();
    let kill = |pid: u32| nix::sys::signal::kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    until("the parent has left the group", async || stat_of(parent, 3) == Some(parent)).await;
    agent.write(&id, "\n").await;
    agent.finish(&id).await;
    kill(member).unwrap();
    until("the group is empty", async || state_of(member).is_none()).await;
    // Time for the agent to look: an interval of the reaper, and some more.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let stranger = group_with_number(exec.pid);
    needs(
        stranger.is_some(),
        "the right to choose the next process id (/proc/sys/kernel/ns_last_pid)",
    );
    if let Some(mut stranger) = stranger {
        assert_eq!(agent.delete(&exec.id).await.status(), 200);
        assert!(lives(exec.pid));
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
    kill(parent).unwrap();
}

/// Starts a process of a certain number in a group of its own; none where the system does not let
/// the test choose it.
fn group_with_number(number: u32) -> Option<Child> {
    for _ in 0..200 {
        fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).ok()?;
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        if child.id() == number {
            return Some(child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    None
}

#[tokio::test]
async fn deleting_twice_at_once_is_safe() {
    let agent = Agent::start();
    for _ in 0..20 {
        let exec = agent.sh("sleep 60").await;
        let (one, two) = tokio::join!(agent.delete(&exec.id), agent.delete(&exec.id));
        let mut statuses = [one.status().as_u16(), two.status().as_u16()];
        statuses.sort_unstable();
        assert!(statuses == [200, 404] || statuses == [200, 200], "{statuses:?}");
    }
    assert_eq!(agent.list().await, []);
}

#[tokio::test]
async fn an_exec_that_cant_be_killed_is_not_deleted_and_keeps_its_output() {
    const NOBODY: u32 = 65534;
    if !needs_root("make a program that becomes root") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = directory.path().join("state");
    fs::create_dir(&state).unwrap();
    chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
    let program = directory.path().join("setpriv");
    fs::copy("/usr/bin/setpriv", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let mut becomes_root = Command::new(&program);
    becomes_root.uid(NOBODY).gid(NOBODY).args(["--reuid=0", "true"]);
    let can = run_to_end(&mut becomes_root).status.success();
    if !needs(can, "a directory for temporary files without nosuid") {
        return;
    }
    let agent = Agent::with(|command| {
        command.uid(NOBODY).gid(NOBODY).args(["--workspace", "/", "--state-dir"]).arg(&state);
    });

    let script = "echo root; read go; echo on; exec sleep 300";
    let args = ["--reuid=0", "--regid=0", "--clear-groups", "sh", "-c", script];
    let exec = agent.create(json!({ "command": program, "args": args })).await;
    let mut stream = agent.stream(&exec.id, "").await;
    stream.until_output("root\n").await;
    let response = agent.delete(&exec.id).await;
    assert_eq!(response.status(), 500);
    let message = message_of(response).await;
    assert!(message.contains("can't be killed") && message.contains("not permitted"), "{message}");
    // It goes on, also for its readers.
    assert_eq!(agent.get(&exec.id).await.status, ExecStatus::Stopping);
    assert_eq!(agent.write(&exec.id, "go\n").await.status(), 200);
    stream.until_output("on\n").await;
    let killed = nix::sys::signal::killpg(Pid::from_raw(exec.pid.cast_signed()), Signal::SIGKILL);
    killed.unwrap();
    let last = stream.next_output().await.unwrap();
    assert_eq!(last.exit_code, Some(137));
    assert_eq!(agent.finish(&exec.id).await.output(), "root\non\n");
    assert_eq!(agent.delete(&exec.id).await.status(), 200);
}

#[tokio::test]
async fn an_exec_that_was_never_started_can_be_deleted() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "true", "args": [], "autostart": false })).await;
    let mut stream = agent.stream(&exec.id, "").await;
    assert_eq!(agent.delete(&exec.id).await.status(), 200);
    assert_eq!(stream.next_output().await, None);
    assert_eq!(agent.start_exec(&exec.id).await.status(), 404);
}
