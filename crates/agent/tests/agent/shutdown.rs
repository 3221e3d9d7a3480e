//! How the agent stops, and what it leaves behind: nothing.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use sandpipe_protocol::websocket::AgentFrame;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    support::{ADMIN, Agent, Events, lives, state_of, until, within},
    websocket::Socket,
};

#[tokio::test]
async fn sigterm_stops_the_execs_and_tells_their_readers() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut agent = Agent::start();
        let exec =
            agent.sh("trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done");
        let exec = exec.await;
        let mut stream = agent.stream(&exec.id, "").await;
        let mut lists = Events::of(&agent, "/api/v1/stream/execs").await;
        stream.until_output("ready\n").await;
        let created =
            agent.create(json!({ "command": "true", "args": [], "autostart": false })).await;
        let mut never = agent.stream(&created.id, "").await;
        agent.signal(signal);
        stream.until_output("bye\n").await;
        assert_eq!(stream.next_output().await.unwrap().exit_code, Some(9));
        assert_eq!(stream.next_output().await, None);
        assert_eq!(never.next_output().await, None);
        let mut last = String::new();
        while let Some(list) = lists.next().await {
            last = list;
        }
        assert!(last.contains("\"STOPPED\""), "{last}");
        assert!(agent.ended().await.success());
    }
}

#[tokio::test]
async fn an_ephemeral_agent_removes_what_it_made_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let (made, found) = (parent.path().join("made"), parent.path().join("found"));
    // What an agent kept that keeps its state.
    let kept = found.join("execs/0123");
    std::fs::create_dir_all(&kept).unwrap();
    for state in [&made, &found] {
        let mut agent = Agent::with(|command| {
            // The last one counts.
            command.arg("--ephemeral").arg("--state-dir").arg(state);
        });
        let exec = agent.sh("echo output; exec sleep 60").await;
        agent.stream(&exec.id, "").await.until_output("output\n").await;
        agent.signal(Signal::SIGTERM);
        assert!(agent.ended().await.success());
    }
    assert!(!made.exists());
    let left: Vec<_> = std::fs::read_dir(&found).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["execs"]);
    assert!(kept.exists());
}

#[tokio::test]
async fn what_an_ephemeral_agent_leaves_that_was_killed_the_next_one_removes() {
    let parent = tempfile::tempdir().unwrap();
    // As `startAgent()` names them.
    let path = |digit: &str| parent.path().join(format!("sandpipe-agent-{}", digit.repeat(32)));
    let start = |digit| {
        Agent::with(|command| {
            command.arg("--ephemeral").arg("--state-dir").arg(path(digit));
        })
    };
    let (mut killed, living) = (start("0"), start("1"));
    let named_by_a_user = parent.path().join("sandpipe-agent-of-mine/ephemeral-execs");
    std::fs::create_dir_all(&named_by_a_user).unwrap();
    for agent in [&killed, &living] {
        assert_eq!(agent.run("echo output").await.exit_code(), 0);
    }
    killed.signal(Signal::SIGKILL);
    killed.ended().await;
    assert!(path("0").exists());
    let third = start("2");
    until("it is removed", async || !path("0").exists()).await;
    assert!(path("1").exists() && path("2").exists() && named_by_a_user.exists());
    for agent in [&living, &third] {
        assert_eq!(agent.run("echo output").await.output(), "output\n");
    }
}

#[tokio::test]
async fn what_ignores_sigterm_is_killed_after_the_grace_period() {
    let mut agent = Agent::with_limit("grace-period=1500ms");
    let exec = agent.sh("trap '' TERM; echo ready; while :; do sleep 0.1; done").await;
    let mut stream = agent.stream(&exec.id, "").await;
    stream.until_output("ready\n").await;
    let started = Instant::now();
    agent.signal(Signal::SIGTERM);
    assert_eq!(stream.next_output().await.unwrap().exit_code, Some(137));
    assert!(started.elapsed() >= Duration::from_millis(1500), "{:?}", started.elapsed());
    assert!(agent.ended().await.success());
    assert!(!lives(exec.pid));
}

#[tokio::test]
async fn a_second_signal_kills_at_once() {
    let mut agent = Agent::with_limit("grace-period=10min");
    let exec = agent
        .sh("trap 'echo asked; sleep 600; exit 9' TERM; echo ready; while :; do sleep 0.01; done");
    let exec = exec.await;
    let mut stream = agent.stream(&exec.id, "").await;
    stream.until_output("ready\n").await;
    agent.signal(Signal::SIGTERM);
    stream.until_output("asked\n").await;
    agent.signal(Signal::SIGTERM);
    assert_eq!(stream.next_output().await.unwrap().exit_code, Some(137));
    assert!(agent.ended().await.success());
}

#[tokio::test]
async fn the_group_of_a_leader_that_has_exited_is_stopped_too() {
    let mut agent = Agent::start();
    let finished = agent.run("sleep 60 & echo $!").await;
    let pid = finished.output().trim().parse().unwrap();
    assert!(lives(pid));
    agent.signal(Signal::SIGTERM);
    assert!(agent.ended().await.success());
    assert!(!lives(pid));
}

#[tokio::test]
async fn shells_in_terminals_and_stopped_processes_do_not_use_up_the_grace_period() {
    let mut agent = Agent::with_limit("grace-period=10min");
    let shell = json!({ "command": "bash", "args": ["--norc", "-i"], "pty": true });
    let shell = agent.create(shell).await;
    let mut stream = agent.stream(&shell.id, "").await;
    agent.write(&shell.id, "sleep 60 &\n").await;
    stream.until_output("[1] ").await;
    let stopped = agent.sh("kill -STOP $$").await;
    let mut stopped_stream = agent.stream(&stopped.id, "").await;
    until("it is stopped", async || state_of(stopped.pid) == Some('T')).await;
    agent.signal(Signal::SIGTERM);
    // Not by SIGKILL, which would come after the grace period.
    assert_eq!(stream.exit_code().await, 128 + Signal::SIGHUP as i32);
    assert_eq!(stopped_stream.exit_code().await, 128 + Signal::SIGTERM as i32);
    assert!(agent.ended().await.success());
    assert!(!lives(shell.pid) && !lives(stopped.pid));
}

#[tokio::test]
async fn no_exec_is_created_while_the_agent_stops() {
    let mut agent = Agent::start();
    let exec = agent.sh("trap '' TERM; echo ready; while :; do sleep 1; done").await;
    agent.stream(&exec.id, "").await.until_output("ready\n").await;
    // A connection that is busy stays open; this one sends its request late.
    let address = agent.url.trim_start_matches("http://").to_owned();
    let body = json!({ "command": "true", "args": [] }).to_string();
    let head = format!(
        "POST /api/v1/execs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        ADMIN,
        body.len()
    );
    let mut connection = tokio::net::TcpStream::connect(&address).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut lists = Events::of(&agent, "/api/v1/stream/execs").await;
    lists.next().await;
    agent.signal(Signal::SIGTERM);
    while !lists.next().await.unwrap().contains("STOPPING") {}
    connection.write_all(body.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    within(connection.read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
    agent.signal(Signal::SIGTERM);
    assert!(agent.ended().await.success());
}

#[tokio::test]
async fn a_reader_that_stalls_does_not_hold_up_the_end() {
    // One that goes on reading may take that long.
    let limit = ["--time-limit", "shutdown-read-timeout=10min"];
    let mut agent = Agent::patient(&limit);
    let exec = agent.sh("head -c 50000000 /dev/zero; echo end >&2").await;
    let stalled = agent.stream(&exec.id, "").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    agent.signal(Signal::SIGTERM);
    assert!(agent.ended().await.success());
    drop(stalled);
}

#[tokio::test]
async fn a_reader_that_goes_on_reading_gets_all_of_it() {
    let limits = ["shutdown-read-timeout=10min", "shutdown-idle-timeout=20s"];
    let limits = limits.map(|limit| ["--time-limit", limit]).concat();
    let mut agent = Agent::patient(&limits);
    let exec = agent.sh("trap 'exit 9' TERM; head -c 30000000 /dev/zero | tr '\\0' x; echo; \
                         echo ready; while :; do sleep 0.01; done");
    let exec = exec.await;
    let mut stream = agent.stream(&exec.id, "").await;
    let mut socket = Socket::open(&agent, &exec.id, &format!("?token={ADMIN}")).await;
    until("all is written", async || {
        let newest = agent.output_now(&exec.id, "?lastSequence=-1").await;
        newest.iter().any(|event| event.output.ends_with("ready\n"))
    })
    .await;
    agent.signal(Signal::SIGTERM);
    until("it has ended", async || !lives(exec.pid)).await;
    let by_stream = async {
        let mut last = None;
        let mut length = 0;
        while let Some(event) = stream.next_output().await {
            length += event.output.len();
            last = event.exit_code;
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        (length, last)
    };
    let by_socket = async {
        let mut length = 0;
        loop {
            match socket.next().await {
                Ok(AgentFrame::Output { output, .. }) => length += output.len(),
                Ok(AgentFrame::Exit { exit_code, .. }) => return (length, Some(exit_code)),
                other => panic!("{other:?} after {length} bytes"),
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    let (by_stream, by_socket) = tokio::join!(by_stream, by_socket);
    assert_eq!(by_stream, by_socket);
    // The shell may say in the end that its sleep was terminated.
    assert!(by_stream.0 >= 30_000_000 + "\nready\n".len());
    assert_eq!(by_stream.1, Some(9));
    assert!(agent.ended().await.success());
}

#[tokio::test]
async fn it_ends_with_the_parent_that_holds_its_standard_input() {
    let mut agent = Agent::with(|command| {
        command.arg("--until-stdin-closes").stdin(Stdio::piped());
    });
    let exec = agent.sh("sleep 60").await;
    assert!(lives(exec.pid));
    drop(agent.process.stdin.take());
    assert!(agent.ended().await.success());
    assert!(!lives(exec.pid));
}

#[tokio::test]
async fn a_signal_after_the_end_of_standard_input_is_no_second_signal() {
    let mut agent = Agent::with(|command| {
        command.arg("--until-stdin-closes").stdin(Stdio::piped());
    });
    let script =
        "trap 'sleep 0.3; echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    let exec = agent.sh(script).await;
    let mut stream = agent.stream(&exec.id, "").await;
    stream.until_output("ready\n").await;
    drop(agent.process.stdin.take());
    agent.signal(Signal::SIGTERM);
    stream.until_output("bye\n").await;
    assert!(agent.ended().await.success());
}

#[tokio::test]
async fn without_the_option_the_end_of_standard_input_means_nothing() {
    let mut agent = Agent::with(|command| {
        command.stdin(Stdio::piped());
    });
    drop(agent.process.stdin.take());
    assert_eq!(agent.run("echo fine").await.output(), "fine\n");
}
