//! Pseudo-terminals.

use sandpipe_protocol::OutputType;
use serde_json::json;

use crate::support::{Agent, children_of, command_line_of, lives, until};

#[tokio::test]
async fn a_command_sees_a_terminal_of_its_own() {
    let agent = Agent::start();
    let exec =
        agent.sh_in_terminal("tty; stty size; echo $TERM; test -t 0 && test -t 2 && exit 6").await;
    assert!(exec.pty);
    let finished = agent.finish(&exec.id).await;
    assert_eq!(finished.exit_code(), 6);
    let output = finished.output();
    assert!(output.starts_with("/dev/pts/"), "{output}");
    assert!(output.ends_with("\r\n24 80\r\nxterm-256color\r\n"), "{output}");
    // Both streams are one.
    assert!(finished.0.iter().all(|event| event.kind == OutputType::Stdout));
}

#[tokio::test]
async fn a_terminal_can_be_resized() {
    let agent = Agent::start();
    let exec = agent
        .sh_in_terminal("trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done")
        .await;
    let mut stream = agent.stream(&exec.id, "").await;
    stream.until_output("ready").await;
    let response = agent.send(&exec.id, "resize", "{\"cols\":132,\"rows\":43}").await;
    assert_eq!(response.status(), 200);
    stream.until_output("43 132\r\n").await;
    for wrong in [
        "",
        "80x24",
        "{}",
        "{\"cols\":0,\"rows\":24}",
        "{\"cols\":80,\"rows\":0}",
        "{\"cols\":99999,\"rows\":1}",
    ] {
        assert_eq!(agent.send(&exec.id, "resize", wrong).await.status(), 400, "{wrong}");
    }
    agent.delete(&exec.id).await;
}

#[tokio::test]
async fn a_size_that_is_set_before_the_start_is_there_from_the_start() {
    let agent = Agent::start();
    let request = json!({ "command": "stty", "args": ["size"], "pty": true, "autostart": false });
    let exec = agent.create(request).await;
    for size in ["{\"cols\":1,\"rows\":1}", "{\"cols\":132,\"rows\":43}"] {
        assert_eq!(agent.send(&exec.id, "resize", size).await.status(), 200);
    }
    assert_eq!(agent.send(&exec.id, "resize", "{\"cols\":0,\"rows\":1}").await.status(), 400);
    assert_eq!(agent.start_exec(&exec.id).await.status(), 200);
    assert_eq!(agent.finish(&exec.id).await.output(), "43 132\r\n");
    assert_eq!(agent.send(&exec.id, "resize", "{\"cols\":1,\"rows\":1}").await.status(), 400);
    let piped = json!({ "command": "true", "args": [], "autostart": false });
    let piped = agent.create(piped).await;
    assert_eq!(agent.send(&piped.id, "resize", "{\"cols\":9,\"rows\":9}").await.status(), 400);
}

#[tokio::test]
async fn typed_input_is_echoed_and_control_c_interrupts() {
    let agent = Agent::start();
    let exec = agent.sh_in_terminal("read line; echo got $line; exec sleep 60").await;
    let mut stream = agent.stream(&exec.id, "").await;
    agent.write(&exec.id, "hi\n").await;
    stream.until_output("got hi\r\n").await;
    agent.write(&exec.id, "\u{3}").await;
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 130);
}

#[tokio::test]
async fn everything_written_to_a_terminal_before_the_exit_arrives() {
    let agent = Agent::start();
    for _ in 0..30 {
        let exec = agent.sh_in_terminal("seq 1 2000; exit 3").await;
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.exit_code(), 3);
        let lines: Vec<_> = (1..=2000).map(|number: u32| number.to_string()).collect();
        assert_eq!(finished.output(), lines.join("\r\n") + "\r\n");
    }
}

#[tokio::test]
async fn a_shell_in_a_terminal_controls_its_jobs() {
    let agent = Agent::start();
    let env = json!({ "LC_ALL": "C" });
    let shell = json!({ "command": "bash", "args": ["--norc", "-i"], "pty": true, "env": env });
    let exec = agent.create(shell).await;
    let mut stream = agent.stream(&exec.id, "").await;
    agent.write(&exec.id, "sleep 60 &\n").await;
    stream.until_output("[1] ").await;
    // Until then it is the shell's own copy, which may miss the signal.
    until("the job runs", async || {
        children_of(exec.pid).into_iter().any(|pid| command_line_of(pid) == "sleep\x0060\0")
    })
    .await;
    agent.write(&exec.id, "jobs; kill %1; wait %1; echo code=$?\n").await;
    let output = stream.until_output("code=143").await;
    assert!(!output.contains("no job control"), "{output}");
    agent.write(&exec.id, "exit 7\n").await;
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 7);
}

#[tokio::test]
async fn deleting_a_shell_in_a_terminal_ends_its_jobs() {
    let agent = Agent::start();
    let exec =
        agent.create(json!({ "command": "bash", "args": ["--norc", "-i"], "pty": true })).await;
    let mut stream = agent.stream(&exec.id, "").await;
    // A job has a process group of its own, in the terminal's session. The echo of the line does not
    // look like its output.
    let job = "sh -c 'trap \"\" HUP; echo jo\"\"b=$$=; exec sleep 60' &\n";
    agent.write(&exec.id, job).await;
    let mut output = stream.until_output("job=").await;
    while !output.split("job=").nth(1).unwrap().contains('=') {
        output += &stream.next_output().await.unwrap().output;
    }
    let job = output.split("job=").nth(1).unwrap().split('=').next().unwrap();
    let job: u32 = job.parse().unwrap();
    assert!(lives(job));
    assert_eq!(agent.delete(&exec.id).await.status(), 200);
    assert!(!lives(job));
}
