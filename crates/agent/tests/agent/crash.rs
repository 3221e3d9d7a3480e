//! An agent that is killed takes its commands with it, and so does its box.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};
use reqwest::{Client, Method};
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    moments::Moments,
    support::{
        ADMIN, Agent, MARKER, children_of, lives, mark, marked, marked_script, needs_root,
        none_is_left, open_files, run_by, set_mode, status_of, until, within,
    },
};

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
}

#[tokio::test]
async fn nothing_outlives_an_agent_that_is_killed() {
    let mut agent = Agent::start();
    let scripts = [
        ("echo ready; exec sleep 300", false),
        ("sleep 300 & (sleep 300 & sleep 300) & echo ready; wait", false),
        ("trap '' TERM HUP INT; sleep 300 & echo ready; wait; sleep 300", false),
        // Its leader is gone, its member lives.
        ("sleep 300 & echo ready", false),
        // Jobs with groups of their own, in a terminal.
        ("set -m; trap '' HUP; sleep 300 & (trap '' HUP; sleep 300) & echo ready; wait", true),
    ];
    for _ in 0..4 {
        for (script, pty) in scripts {
            let exec = agent.create(marked_script(script, "all", pty)).await;
            agent.stream(&exec.id, "").await.until_output("ready").await;
        }
    }
    assert!(marked("all").len() >= 40);
    let process_box = agent.box_pid();
    agent.kill();
    none_is_left("all").await;
    until("the box has ended", async || !lives(process_box)).await;
}

#[tokio::test]
async fn nothing_outlives_an_agent_that_is_killed_while_it_starts_commands() {
    for round in 0..5 {
        let mut agent = Agent::start();
        let marker = format!("storm {round}");
        let creates: Vec<_> = (0..8)
            .map(|_| {
                let body = marked_script("sleep 300 & sleep 300 & wait", &marker, false);
                let create = agent.request(Method::POST, "/api/v1/execs").json(&body);
                tokio::spawn(
                    async move { while create.try_clone().unwrap().send().await.is_ok() {} },
                )
            })
            .collect();
        until("many have started", async || marked(&marker).len() >= 20 + 10 * round).await;
        agent.kill();
        for create in creates {
            create.await.unwrap();
        }
        none_is_left(&marker).await;
    }
}

#[tokio::test]
async fn an_agent_that_stops_leaves_no_box() {
    let mut agent = Agent::start();
    agent.sh("sleep 300").await;
    let process_box = agent.box_pid();
    // It does not end before the agent.
    for ignored in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signal(process_box, ignored);
    }
    assert_eq!(agent.run("echo fine").await.output(), "fine\n");
    assert_eq!(agent.box_pid(), process_box);
    agent.signal(Signal::SIGTERM);
    assert!(agent.ended().await.success());
    // Not even a zombie: the agent has reaped it before it ended itself.
    assert!(!Path::new(&format!("/proc/{process_box}")).exists());
}

#[tokio::test]
async fn what_runs_in_a_box_that_dies_is_killed_without_an_exit_code_and_another_box_follows() {
    let agent = Agent::start();
    let scripts = [
        ("echo ready; exec sleep 300", false),
        ("sleep 300 & (sleep 300 & sleep 300) & echo ready; wait", false),
        ("trap '' TERM HUP INT; sleep 300 & echo ready; wait; sleep 300", false),
        ("set -m; trap '' HUP; sleep 300 & (trap '' HUP; sleep 300) & echo ready; wait", true),
    ];
    let mut execs = Vec::new();
    for (script, pty) in scripts {
        let exec = agent.create(marked_script(script, "before", pty)).await;
        agent.stream(&exec.id, "").await.until_output("ready").await;
        execs.push(exec);
    }
    // Its leader is gone, its member lives.
    let orphaned = agent.create(marked_script("sleep 300 & exit 3", "before", false)).await;
    assert_eq!(agent.finish(&orphaned.id).await.exit_code(), 3);
    let first = agent.box_pid();
    signal(first, Signal::SIGKILL);
    for exec in &execs {
        // The output ends, and nobody says how.
        let events = agent.finish(&exec.id).await.0;
        assert!(events.iter().all(|event| event.exit_code.is_none()));
        let item = agent.get(&exec.id).await;
        assert_eq!((item.status, item.exit_code), (ExecStatus::Stopped, -1));
        assert_eq!(agent.signal_exec(&exec.id, "0").await.status(), 409);
    }
    // All of it was gone before that was said.
    assert_eq!(marked("before"), [] as [u32; 0]);
    assert_eq!(agent.get(&orphaned.id).await.exit_code, 3);
    assert_eq!(agent.run("echo fine; exit 4").await.exit_code(), 4);
    assert_ne!(agent.box_pid(), first);
    for exec in &execs {
        assert_eq!(agent.delete(&exec.id).await.status(), 200);
    }
}

#[tokio::test]
async fn a_box_may_die_at_any_moment_and_no_result_is_invented() {
    box_dies_at_any_moment(Agent::start(), tempfile::tempdir().unwrap().path()).await;
}

/// Waits for a moment of a round of twenty execs; `ended` gets a permit for each that has ended. In half of the rounds the moment is
/// one of the clock, in the others some have ended before it, however slow the machine is.
async fn some_moment(moments: &mut Moments, ended: &Semaphore) {
    let count = moments.below(40).saturating_sub(20);
    within(ended.acquire_many(u32::try_from(count).unwrap())).await.unwrap().forget();
    let limit = Duration::from_millis(if count == 0 { 120 } else { 20 });
    tokio::time::sleep(moments.within(limit)).await;
}

/// Its commands write to that directory.
pub(crate) async fn box_dies_at_any_moment(agent: Agent, directory: &Path) {
    let agent = Arc::new(agent);
    let mut moments = Moments::of("a box dies");
    let mut known = 0;
    for round in 0..50_u64 {
        let marker = format!("round {round} of {}", agent.pid());
        let first = agent.box_pid();
        // Behind walls the box is a child of what has built them, and each is killed in its turn.
        let inside = children_of(first).into_iter().filter(|pid| name_of(*pid) == "sandpipe-box");
        let of_box: Vec<u32> = [first].into_iter().chain(inside).collect();
        let victim = of_box[usize::try_from(round).unwrap() % of_box.len()];
        let ended = Arc::new(Semaphore::new(0));
        let runs: Vec<_> = (0..20)
            .map(|number| {
                let (agent, ended) = (Arc::clone(&agent), Arc::clone(&ended));
                let file = directory.join(format!("{round}-{number}"));
                // What it ends with is written down where it is true, and what ran twice, too.
                let script = format!(
                    "echo begun >> '{0}'; sleep 0.0{number:02}; echo 7 >> '{0}'; exit 7",
                    file.display()
                );
                let body = marked_script(&script, &marker, number % 4 == 0);
                tokio::spawn(async move {
                    let exec = agent.create(body).await;
                    agent.finish(&exec.id).await;
                    ended.add_permits(1);
                    (file, agent.get(&exec.id).await)
                })
            })
            .collect();
        some_moment(&mut moments, &ended).await;
        signal(victim, Signal::SIGKILL);
        for run in runs {
            let (file, item) = run.await.unwrap();
            let written = std::fs::read_to_string(file).unwrap_or_default();
            match item.exit_code {
                7 => assert_eq!((item.status, &*written), (ExecStatus::Exited, "begun\n7\n")),
                -1 => {
                    assert_eq!(item.status, ExecStatus::Stopped);
                    assert!(["", "begun\n", "begun\n7\n"].contains(&&*written), "{written}");
                }
                code => panic!("it says {code}: {written}"),
            }
            known += u32::from(item.exit_code == 7);
        }
        assert_eq!(marked(&marker), [] as [u32; 0]);
        // What is asked of it while it dies it may have begun.
        until("the box is dead", async || !of_box.iter().any(|pid| lives(*pid))).await;
        assert_eq!(agent.run("exit 5").await.exit_code(), 5);
    }
    // The moments were before, between and after the ends.
    assert!((1..1000).contains(&known), "{known}");
}

#[tokio::test]
async fn the_box_holds_nothing_of_the_agents_and_commands_hold_nothing_of_its() {
    // Nobody else may look into it, not even who started it.
    if !needs_root("look into the box") {
        return;
    }
    let agent = Agent::with(|command| {
        command.env(MARKER, mark("the agent"));
    });
    let open = |pid: u32| BTreeSet::from_iter(open_files(pid));
    let exec = agent.sh("echo ready; read x").await;
    agent.stream(&exec.id, "").await.until_output("ready").await;
    let process_box = agent.box_pid();
    // The other end of its socket is the agent's.
    assert!(&open(process_box) & &open(agent.pid()) <= BTreeSet::from(["/dev/null".into()]));
    assert!(&open(process_box) & &open(exec.pid) <= BTreeSet::from(["/dev/null".into()]));
    assert!(std::fs::read(format!("/proc/{process_box}/environ")).unwrap().is_empty());
    let args = std::fs::read_to_string(format!("/proc/{process_box}/cmdline")).unwrap();
    assert_eq!(args, "sandpipe-agent\0box\0");
    assert_eq!(std::fs::read_link(format!("/proc/{process_box}/cwd")).unwrap().to_str(), Some("/"));
    assert_eq!(status_of(process_box, "Threads"), Some(1));
}

#[tokio::test]
async fn commands_inherit_nothing_that_the_agent_was_started_with() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, ADMIN).unwrap();
    set_mode(&token, 0o600);
    // As `--admin-token-file /dev/fd/7 7< token`.
    let agent = Agent::with(|command| {
        command.env_remove("SANDPIPE_ADMIN_TOKEN").args(["--admin-token-file", "/dev/fd/7"]);
        let script = format!("exec 7< '{}'; exec \"$@\"", token.display());
        run_by(command, &["sh", "-c", &script]);
    });
    assert!(open_files(agent.pid()).contains(&token));
    if geteuid().is_root() {
        assert!(!open_files(agent.box_pid()).contains(&token));
    }
    for pty in [false, true] {
        let script = "ls -l /proc/self/fd | grep -c token; cat <&7";
        let exec = agent.create(json!({ "command": "sh", "args": ["-c", script], "pty": pty }));
        let output = agent.finish(&exec.await.id).await.output();
        assert!(!output.contains(ADMIN) && output.starts_with('0'), "{output}");
    }
}

#[tokio::test]
async fn an_agent_may_die_at_any_moment_and_the_next_one_invents_no_result() {
    agent_dies_at_any_moment(Agent::start(), tempfile::tempdir().unwrap().path(), &[]).await;
}

/// What a process calls itself.
fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// Its commands write to that directory; it is started again with these flags.
pub(crate) async fn agent_dies_at_any_moment(mut agent: Agent, directory: &Path, args: &[&str]) {
    let mut moments = Moments::of("an agent dies");
    let (mut known, mut unknown) = (0, 0);
    let client = Client::builder().no_proxy().build().unwrap();
    for round in 0..50_u64 {
        let marker = format!("agent {round} in {}", directory.display());
        let ended = Arc::new(Semaphore::new(0));
        let creates: Vec<_> = (0..20)
            .map(|number| {
                let file = directory.join(format!("{round}-{number}"));
                let script = format!(
                    "echo begun >> '{0}'; sleep 0.0{number:02}; echo 7 >> '{0}'; exit 7",
                    file.display()
                );
                let body = marked_script(&script, &marker, number % 4 == 0);
                let create = agent.request(Method::POST, "/api/v1/execs").json(&body);
                let (url, ended) = (agent.url.clone(), Arc::clone(&ended));
                let client = client.clone();
                tokio::spawn(async move {
                    let item = create.send().await.ok()?.json::<ExecItem>().await.ok()?;
                    let output = format!("{url}/api/v1/stream/execs/{}/io", item.id);
                    // It breaks off when the agent is killed.
                    let output = client.get(output).bearer_auth(ADMIN).send().await;
                    if let Ok(output) = output
                        && output.text().await.is_ok()
                    {
                        ended.add_permits(1);
                    }
                    Some((item.id, file))
                })
            })
            .collect();
        some_moment(&mut moments, &ended).await;
        agent.kill();
        none_is_left(&marker).await;
        agent.restart_with(args);
        for create in creates {
            let Some((id, file)) = create.await.unwrap() else {
                continue;
            };
            let written = std::fs::read_to_string(file).unwrap_or_default();
            let item = agent.get(&id).await;
            match item.exit_code {
                7 => assert_eq!((item.status, &*written), (ExecStatus::Exited, "begun\n7\n")),
                -1 => {
                    assert_eq!(item.status, ExecStatus::Stopped);
                    assert!(["", "begun\n", "begun\n7\n"].contains(&&*written), "{written}");
                }
                code => panic!("it says {code}: {written}"),
            }
            *(if item.exit_code == 7 { &mut known } else { &mut unknown }) += 1;
        }
        assert_eq!(agent.run("exit 5").await.exit_code(), 5);
    }
    assert!(known > 0 && unknown > 0, "{known} {unknown}");
}
