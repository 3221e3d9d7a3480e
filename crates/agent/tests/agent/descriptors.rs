//! An agent that has no descriptor left.

use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{Agent, within};

/// Sets the soft limit on an agent's open files; gives the one before.
fn limit(agent: &Agent, current: Option<u64>) -> Option<u64> {
    let pid = Pid::from_raw(agent.pid().cast_signed()).unwrap();
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    let new = Rlimit { current, maximum };
    prlimit(Some(pid), Resource::Nofile, new).unwrap().current
}

/// The processor time that an agent has used, in ticks of 10 ms.
fn ticks(agent: &Agent) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent.pid())).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[tokio::test]
async fn output_and_connections_wait_for_descriptors_and_none_is_lost() {
    let agent = Agent::start();
    let exec = agent.sh("read go; seq 1 20000").await;
    // This request's connection is open, and there is no file for output yet.
    let before = limit(&agent, Some(0));
    assert_eq!(agent.write(&exec.id, "go\n").await.status(), 200);
    let refused = agent.try_create(json!({ "command": "true", "args": [] })).await;
    assert_eq!(refused.status(), 500);
    let other = tokio::net::TcpStream::connect(agent.url.trim_start_matches("http://"));
    let other = within(other).await.unwrap();
    let used = ticks(&agent);
    sleep(Duration::from_secs(1)).await;
    let used = ticks(&agent) - used;
    assert!(used < 30, "it used {used} ticks for nothing");
    assert_eq!(agent.output_now(&exec.id, "").await, []);

    limit(&agent, before);
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
