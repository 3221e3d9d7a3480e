//! An agent that has no descriptor left.

use std::time::Duration;

use rustix::process::Resource;
use serde_json::json;
use tokio::time::sleep;

use crate::limits::limit;
use crate::support::{Agent, lives, message_of, open_files, stat_of, under, until, within};

/// The processor time that an agent has used, in ticks of 10 ms.
fn ticks(agent: &Agent) -> u64 {
    [11, 12].map(|field| stat_of::<u64>(agent.pid(), field).unwrap()).iter().sum()
}

#[tokio::test]
async fn output_and_connections_wait_for_descriptors_and_none_is_lost() {
    let agent = Agent::start();
    let exec = agent.sh("read go; seq 1 20000").await;
    // This request's connection is open, and there is no file for output yet.
    let before = limit(&agent, Resource::Nofile, Some(0));
    assert_eq!(agent.write(&exec.id, "go\n").await.status(), 200);
    let refused = agent.try_create(json!({ "command": "true", "args": [] })).await;
    assert_eq!(refused.status(), 503);
    let kept = std::fs::read_dir(agent.state.join("execs")).unwrap().count();
    assert_eq!(kept, 1, "a create that is refused leaves nothing");
    let other = tokio::net::TcpStream::connect(agent.url.trim_start_matches("http://"));
    let other = within(other).await.unwrap();
    let used = ticks(&agent);
    sleep(Duration::from_secs(1)).await;
    let used = ticks(&agent) - used;
    assert!(used < 30, "it used {used} ticks for nothing");
    assert_eq!(agent.output_now(&exec.id, "").await, []);

    limit(&agent, Resource::Nofile, before);
    let finished = agent.finish(&exec.id).await;
    assert_eq!(finished.exit_code(), 0);
    let expected: Vec<_> = (1..=20_000).map(|number: u32| number.to_string()).collect();
    assert_eq!(finished.output(), expected.join("\n") + "\n");
    let count = u64::try_from(finished.0.len()).unwrap();
    assert_eq!(finished.sequences(), (1..=count).collect::<Vec<_>>());
    // The one that came meanwhile is served.
    other.writable().await.unwrap();
    other.try_write(b"nonsense\r\n\r\n").unwrap();
    within(other.readable()).await.unwrap();
    let mut answer = [0; 12];
    other.try_read(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
}

#[tokio::test]
async fn execs_and_connections_leave_each_other_the_descriptors_that_they_need() {
    let agent = Agent::with(|command| {
        under(command, "--nofile=128");
        // So small that many files are needed, one after the other.
        command.args(["--spool-limit", "1MiB"]);
    });
    let exec = agent.sh("read go; seq 1 100000; exit 3").await;
    let stream = agent.stream(&exec.id, "").await;
    let mut sleeping = Vec::new();
    let refused = loop {
        let answer = agent.try_create(json!({ "command": "sleep", "args": ["300"] })).await;
        if answer.status() != 201 {
            break answer;
        }
        sleeping.push(answer.json::<sandpipe_protocol::ExecItem>().await.unwrap().id);
        assert!(sleeping.len() < 128, "none is refused");
    };
    assert_eq!(refused.status(), 503);
    let message = message_of(refused).await;
    assert!(message.contains("ulimit -n") && message.contains("128"), "{message}");
    let mut streams = Vec::new();
    for id in &sleeping {
        streams.push(agent.stream(id, "").await);
    }
    // Nothing is left of the one that was refused. This request's connection stays open for the next.
    assert_eq!(agent.list().await.len(), sleeping.len() + 1);
    let address = agent.url.trim_start_matches("http://");
    let mut idle = Vec::new();
    for _ in 0..64 {
        idle.push(within(tokio::net::TcpStream::connect(address)).await.unwrap());
    }
    assert_eq!(agent.write(&exec.id, "go\n").await.status(), 200);
    let mut output = String::new();
    let mut exit_code = None;
    let mut stream = stream;
    while let Some(event) = stream.next_output().await {
        output += &event.output;
        exit_code = event.exit_code;
    }
    let expected: Vec<_> = (1..=100_000).map(|number: u32| number.to_string()).collect();
    assert_eq!(exit_code, Some(3));
    assert_eq!(output, expected.join("\n") + "\n");
    drop((idle, streams));
    for id in &sleeping {
        assert_eq!(agent.delete(id).await.status(), 200);
    }
    assert_eq!(agent.run("echo again").await.output(), "again\n");
}

#[tokio::test]
async fn what_outlives_its_command_takes_no_more_than_its_output() {
    let agent = Agent::with(|command| under(command, "--nofile=256"));
    let mut ended = Vec::new();
    // If each were counted as one that runs, there would be room for 19.
    for _ in 0..25 {
        let exec = agent.sh("sleep 300 & echo started").await;
        assert_eq!(agent.finish(&exec.id).await.output(), "started\n");
        ended.push(exec.id);
    }
    assert_eq!(agent.run("echo again").await.output(), "again\n");
    for id in &ended {
        assert_eq!(agent.delete(id).await.status(), 200);
    }
}

#[tokio::test]
async fn a_command_takes_as_many_descriptors_as_it_is_counted_with() {
    let agent = Agent::start();
    // Connections are not the commands': one may close at any time.
    let links = || {
        let files = open_files(agent.pid()).into_iter();
        files.filter(|file| !file.to_string_lossy().starts_with("socket:")).collect::<Vec<_>>()
    };
    let open = || links().len();
    // What all commands share is there after the first.
    let first = agent.sh("echo first").await.id;
    agent.finish(&first).await;
    assert_eq!(agent.delete(&first).await.status(), 200);
    let execs = agent.state.join("execs");
    until("nothing of the first is open", async || {
        links().iter().all(|link| !link.starts_with(&execs))
    })
    .await;
    for (interactive, pty, expected) in
        [(false, false, 4), (true, false, 5), (false, true, 4), (true, true, 5)]
    {
        let before = open();
        let args = ["-c", "echo output; exec sleep 300"];
        let exec = json!({ "command": "sh", "args": args, "interactive": interactive, "pty": pty });
        let id = agent.create(exec).await.id;
        until("there is output", async || !agent.output_now(&id, "").await.is_empty()).await;
        until("nothing else is open", async || open() <= before + expected).await;
        assert_eq!(open(), before + expected, "interactive: {interactive}, pty: {pty}");
        assert_eq!(agent.delete(&id).await.status(), 200);
        until("nothing of it is open", async || open() == before).await;
    }
}

#[tokio::test]
async fn a_start_that_is_refused_keeps_no_descriptor() {
    let agent = Agent::start();
    let cwd = tempfile::tempdir().unwrap();
    let request = json!({ "command": "true", "args": [], "cwd": cwd.path(), "autostart": false });
    let mut waiting = Vec::new();
    for _ in 0..20 {
        waiting.push(agent.create(request.clone()).await.id);
    }
    drop(cwd);
    let open = || open_files(agent.pid()).len();
    let before = open();
    for id in &waiting {
        assert_eq!(agent.start_exec(id).await.status(), 400);
        assert!(!agent.state.join("execs").join(id).join("exec.json.end").exists());
    }
    assert_eq!(open(), before);
}

#[tokio::test]
async fn without_descriptors_a_shell_in_a_terminal_is_stopped_with_its_jobs() {
    let agent = Agent::start();
    // With job control each job has a group of its own.
    let exec = agent.sh_in_terminal("set -m; sleep 300 & echo job $!; wait").await;
    let output = agent.stream(&exec.id, "").await.until_output("\n").await;
    let job = output.trim().strip_prefix("job ").unwrap().parse().unwrap();
    assert!(lives(job));
    // This request's connection stays open for the next.
    agent.list().await;
    let before = limit(&agent, Resource::Nofile, Some(0));
    assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
    until("its job has ended", async || !lives(job)).await;
    limit(&agent, Resource::Nofile, before);
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 137);
    assert_eq!(agent.delete(&exec.id).await.status(), 200);
}
