//! Commands whose processes each live for a tenth of a millisecond, and leave another one in a session of its own: who looks for them
//! finds none, or another each time.

use std::{fs, path::Path, sync::LazyLock};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{User, Walled, attempts::program, users, walls};
use crate::support::{marked, marked_script, needs, needs_root, none_is_left, until};

/// Where the root of all cgroups may be.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// A create of such a command. The file says how many processes there have been; before the command ends it is there.
fn create(count: &Path, rest: &str) -> Value {
    let script = format!(
        "\"$TRY\" >/dev/null; until [ -s \"$COUNT\" ]; do sleep 0.01; done; echo ready; {rest}"
    );
    let env = json!({ "TRY": program(), "ATTEMPT": "replace", "COUNT": count });
    json!({ "command": "sh", "args": ["-c", script], "env": env })
}

/// Ends when the file has been written again.
const GOES_ON: &str =
    r#"first=$(cksum < "$COUNT"); while [ "$first" = "$(cksum < "$COUNT")" ]; do sleep 0.01; done"#;

/// Fails when the file is written again while it looks.
const IS_OVER: &str = r#"first=$(cksum < "$COUNT"); for i in $(seq 40); do \
    [ "$first" = "$(cksum < "$COUNT")" ] || exit 1; sleep 0.01; done"#;

#[tokio::test]
async fn processes_that_take_each_others_place_are_ended_by_a_stop() {
    if !can_have_cgroups() {
        return;
    }
    let policies =
        if walls() { &["open", "workspace", "offline", "strict"][..] } else { &["open"] };
    for policy in policies {
        let walled = Walled::start_as(User::Root, &["--policy", policy]);
        let agent = &walled.agent;
        let name = format!("count-{}", std::process::id());
        let count = Path::new("/tmp").join(name);
        let exit_code = async |script: &str| {
            let env = json!({ "COUNT": count });
            let exec = json!({ "command": "sh", "args": ["-c", script], "env": env });
            agent.finish(&agent.create(exec).await.id).await.exit_code()
        };
        for rest in ["exit 3", "sleep 600"] {
            let exec = agent.create(create(&count, rest)).await;
            agent.stream(&exec.id, "").await.until_output("ready").await;
            // There is one process, which may have to wait for the processor.
            assert_eq!(exit_code(GOES_ON).await, 0, "{policy}");
            agent.signal_exec(&exec.id, "SIGKILL").await;
            assert_eq!(agent.delete(&exec.id).await.status(), 200);
            assert_eq!(exit_code(IS_OVER).await, 0, "{policy}: {rest}");
        }
        agent.run(&format!("rm {}", count.display())).await;
    }
}

#[tokio::test]
async fn commands_that_see_no_cgroups_are_stopped() {
    if !can_have_cgroups() || !walls() {
        return;
    }
    for hidden in ["/sys/fs/cgroup", "/sys", "/sys/fs/cgroup/unified"] {
        if !Path::new(hidden).exists() {
            continue;
        }
        // Something that is left in it makes it no empty directory.
        let left = ["cgroup.controllers", "pids"].map(|name| format!("/sys/fs/cgroup/{name}"));
        let left = left.iter().filter(|path| Path::new(path).exists());
        let left = left.flat_map(|path| ["--allow-read", path]);
        let args: Vec<_> = ["--hide", hidden].into_iter().chain(left).collect();
        let walled = Walled::start_as(User::Root, &args);
        let agent = &walled.agent;
        // One that leaves its process group is reached by its cgroup.
        let marker = format!("sees no cgroups: {hidden}");
        let exec =
            agent.create(marked_script("setsid sleep 600 & sleep 600", &marker, false)).await;
        until("both run", async || marked(&marker).len() > 2).await;
        assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200, "{hidden}");
        assert_eq!(agent.delete(&exec.id).await.status(), 200, "{hidden}");
        none_is_left(&marker).await;
    }
}

#[tokio::test]
async fn cgroups_of_commands_behind_walls_go_with_the_agent_or_with_the_next() {
    if !can_have_cgroups() || !walls() {
        return;
    }
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let mut walled = Walled::start_as(User::Root, &["--policy", "workspace"]);
        let marker = format!("cgroup {signal}");
        walled.agent.create(marked_script("sleep 600", &marker, false)).await;
        until("it runs", async || !marked(&marker).is_empty()).await;
        let of_command =
            fs::read_to_string(format!("/proc/{}/cgroup", marked(&marker)[0])).unwrap();
        let of_command = of_command.lines().find_map(|line| line.strip_prefix("0::/")).unwrap();
        let base = of_command.split('/').find(|name| name.starts_with("sandpipe-")).unwrap();
        let base = ROOTS.map(|root| Path::new(root).join(base));
        let is_there = || base.iter().any(|path| path.exists());
        assert!(is_there());
        walled.agent.signal(signal);
        walled.agent.signal(signal);
        walled.agent.ended().await;
        if signal == Signal::SIGKILL {
            // Nobody is in it as soon as the box is dead.
            until("the next one removes it", async || {
                drop(walled.another(User::Root, &["--policy", "workspace"]));
                !is_there()
            })
            .await;
        }
        assert!(!is_there());
    }
}

#[tokio::test]
async fn behind_walls_processes_that_take_each_others_place_end_with_the_agent() {
    if !walls() {
        return;
    }
    for user in users() {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let mut walled = Walled::start_as(*user, &["--policy", "workspace"]);
            let count = walled.workspace.join("count");
            let exec = walled.agent.create(create(&count, "sleep 600")).await;
            walled.agent.stream(&exec.id, "").await.until_output("ready").await;
            let first = fs::read(&count).unwrap();
            until("it goes on", async || fs::read(&count).unwrap() != first).await;
            walled.agent.signal(signal);
            walled.agent.signal(signal);
            walled.agent.ended().await;
            let (mut last, mut unchanged) = (Vec::new(), 0);
            until("it ends", async || {
                let before = std::mem::replace(&mut last, fs::read(&count).unwrap());
                unchanged = if last == before { unchanged + 1 } else { 0 };
                unchanged == 20
            })
            .await;
        }
    }
}

/// Returns whether this user can make cgroups here in which processes are started: else they are looked for. Says what is missing.
fn can_have_cgroups() -> bool {
    // One test alone tries it: another would find its cgroup there.
    static HAS_CGROUPS: LazyLock<bool> = LazyLock::new(|| {
        ROOTS.iter().any(|root| {
            let path = Path::new(root).join(format!("test-{}", std::process::id()));
            let is_made = fs::create_dir(&path).is_ok();
            let can_be_killed = path.join("cgroup.kill").exists();
            let _removed = fs::remove_dir(&path);
            is_made && can_be_killed
        })
    });
    needs_root("make cgroups") && needs(*HAS_CGROUPS, "cgroups of version 2 with cgroup.kill")
}
