//! An agent that is killed takes its commands with it.

use std::{collections::BTreeSet, sync::Arc};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::Method;

use crate::support::{
    Agent, MARKER, children_of, lives, marked, marked_script, none_is_left, open_files, until,
};

fn guardian_of(agent: &Agent) -> Option<u32> {
    let is_guardian = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.starts_with(b"sandpipe-agent-guardian\0"))
    };
    children_of(agent.pid()).into_iter().find(is_guardian)
}

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
    let guardian = guardian_of(&agent).unwrap();
    agent.kill();
    none_is_left("all").await;
    until("the guardian has ended", async || !lives(guardian)).await;
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
async fn an_agent_that_stops_leaves_no_guardian() {
    let mut agent = Agent::start();
    agent.sh("sleep 300").await;
    let guardian = guardian_of(&agent).unwrap();
    // It does not end before the agent.
    for ignored in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signal(guardian, ignored);
    }
    assert_eq!(agent.run("echo fine").await.output(), "fine\n");
    assert_eq!(guardian_of(&agent), Some(guardian));
    agent.signal(Signal::SIGTERM);
    assert!(agent.ended().await.success());
    // Not even a zombie: the agent has reaped it before it ended itself.
    assert!(!std::path::Path::new(&format!("/proc/{guardian}")).exists());
}

#[tokio::test]
async fn a_guardian_that_dies_is_replaced_and_told_of_what_runs() {
    let mut agent = Agent::start();
    agent.create(marked_script("sleep 300 & sleep 300", "before", false)).await;
    let orphaned = agent.create(marked_script("sleep 300 & echo", "before", false)).await;
    agent.finish(&orphaned.id).await;
    let first = guardian_of(&agent).unwrap();
    signal(first, Signal::SIGKILL);
    until("there is another", async || guardian_of(&agent).is_some_and(|pid| pid != first)).await;
    agent.create(marked_script("sleep 300 & sleep 300", "after", true)).await;
    agent.kill();
    none_is_left("before").await;
    none_is_left("after").await;
}

#[tokio::test]
async fn commands_can_be_started_at_any_moment_of_a_guardians_death() {
    let agent = Arc::new(Agent::start());
    let starts: Vec<_> = (0..4)
        .map(|_| {
            let agent = Arc::clone(&agent);
            tokio::spawn(async move {
                for _ in 0..25 {
                    assert_eq!(agent.run("echo fine").await.output(), "fine\n");
                }
            })
        })
        .collect();
    for _ in 0..20 {
        until("there is a guardian", async || guardian_of(&agent).is_some()).await;
        // It may have been replaced in between.
        let _gone =
            guardian_of(&agent).map(|pid| kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL));
    }
    for start in starts {
        start.await.unwrap();
    }
}

#[tokio::test]
async fn the_guardian_holds_nothing_of_the_agents_and_commands_hold_nothing_of_its() {
    let agent = Agent::with(|command| {
        command.env(MARKER, "of the agent");
    });
    let open = |pid: u32| BTreeSet::from_iter(open_files(pid));
    let exec = agent.sh("echo ready; read x").await;
    agent.stream(&exec.id, "").await.until_output("ready").await;
    let guardian = guardian_of(&agent).unwrap();
    let pipe = std::fs::read_link(format!("/proc/{guardian}/fd/0")).unwrap();
    assert!(open(agent.pid()).contains(&pipe));
    assert!(!open(exec.pid).contains(&pipe));
    // What this test itself was started with may be everywhere.
    let own = open(std::process::id());
    let shared = &open(guardian) & &open(agent.pid());
    assert_eq!(&shared - &own, [pipe].into());
    assert!(std::fs::read(format!("/proc/{guardian}/environ")).unwrap().is_empty());
    assert_eq!(std::fs::read_link(format!("/proc/{guardian}/cwd")).unwrap().to_str(), Some("/"));
}
