//! An agent at a limit of its system: processes and memory. Descriptors and the disk have files of
//! their own.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt},
    path::Path,
    process::Command,
    sync::Arc,
    time::Duration,
};

use nix::unistd::geteuid;
use reqwest::{Method, Response};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::sleep,
};

use crate::support::{
    ADMIN, Agent, descendants_of, lives, message_of, needs, run_by, status_of, under, until, within,
};

/// How many processes and threads an agent and its commands may have.
const PROCESSES: u64 = 60;
/// Starts processes that stay, as fast as it can, and itself anew where no more can be had. It says
/// nothing: output would keep the agent awake.
const BOMB: &str =
    r#"exec 2>/dev/null; trap 'exec sh -c "$BOMB"' EXIT; while :; do sleep 1000 & done"#;
/// How long the agent's pool of threads keeps one that has nothing to do, and what is longer than that.
const IDLE: &str = "idle-thread-timeout=50ms";
const QUIET: Duration = Duration::from_secs(1);

/// Sets an agent's soft limit on something; gives the one before.
pub(crate) fn limit(agent: &Agent, resource: Resource, current: Option<u64>) -> Option<u64> {
    let pid = Pid::from_raw(agent.pid().cast_signed()).unwrap();
    let new = Rlimit { current, maximum: getrlimit(resource).maximum };
    prlimit(Some(pid), resource, new).unwrap().current
}

/// Lets an agent map so many KiB more than it has; gives the limit before.
fn limit_memory(agent: &Agent, more: u64) -> Option<u64> {
    let mapped = status_of(agent.pid(), "VmSize").unwrap();
    limit(agent, Resource::As, Some((mapped + more) * 1024))
}

/// The threads of an agent and of all that has come of it.
fn tasks_of(agent: &Agent) -> u64 {
    let own = [agent.pid()].into_iter().chain(descendants_of(agent.pid()));
    own.filter_map(|pid| status_of(pid, "Threads")).sum()
}

/// An agent that may have few processes and threads. They are counted for each user, and root is not bound by the limit: root's test has
/// the agent run as a user that nobody else is, and another user's has it run in a user namespace, in which its processes are counted
/// apart from those of other tests.
fn agent_with_few_processes(state: &Path) -> Option<Agent> {
    const APART: [&str; 3] = ["unshare", "--user", "--map-current-user"];
    let is_root = geteuid().is_root();
    // Where all were counted, there would be no room for one more.
    let few = ["prlimit", "--nproc=2", "sh", "-c", "(exit 3); exit $?"];
    let apart = || Command::new(APART[0]).args(&APART[1..]).args(few).status();
    let can = is_root || apart().is_ok_and(|status| status.code() == Some(3));
    if !needs(can, "user namespaces in which processes are counted apart (Linux 5.14)") {
        return None;
    }
    let user = if is_root { 100_000 + std::process::id() } else { geteuid().as_raw() };
    chown(state, Some(user), Some(user)).unwrap();
    Some(Agent::with(|command| {
        command.args(["--time-limit", IDLE, "--workspace", "/", "--state-dir"]).arg(state);
        under(command, &format!("--nproc={PROCESSES}"));
        if is_root {
            command.uid(user).gid(user);
        } else {
            run_by(command, &APART);
        }
    }))
}

/// Creates execs, and deletes them, until the agent refuses one: a command or an idle thread that ends
/// leaves a place, and the agent may get it before the bomb does.
async fn refused_create(agent: &Agent, request: Value) -> Response {
    within(async {
        loop {
            let answer = agent.try_create(request.clone()).await;
            if answer.status() != 201 {
                return answer;
            }
            let created = answer.json::<ExecItem>().await.unwrap();
            assert_eq!(agent.delete(&created.id).await.status(), 200);
        }
    })
    .await
}

#[tokio::test]
async fn at_the_process_limit_what_runs_is_seen_signalled_and_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let Some(agent) = agent_with_few_processes(directory.path()) else { return };
    let is_full = || tasks_of(&agent) >= PROCESSES;
    let quiet = agent.sh("echo first; read x; echo second; exit 7").await;
    let terminal = agent.sh_in_terminal("echo here; read x").await;
    let mut stream = agent.stream(&quiet.id, "").await;
    stream.until_output("first\n").await;
    agent.stream(&terminal.id, "").await.until_output("here").await;
    let bomb = json!({ "command": "sh", "args": ["-c", BOMB], "env": { "BOMB": BOMB } });
    let bomb = agent.create(bomb).await;
    until("there is no room for a process", async || is_full()).await;
    sleep(QUIET).await;

    assert_eq!(agent.signal_exec(&bomb.id, "SIGCONT").await.status(), 200);
    assert_eq!(agent.write(&quiet.id, "\n").await.status(), 200);
    stream.until_output("second\n").await;
    assert_eq!(stream.next_output().await.unwrap().exit_code, Some(7));
    assert!(stream.next_output().await.is_none());
    assert_eq!(agent.get(&quiet.id).await.status, ExecStatus::Exited);
    assert_eq!(agent.output_now(&quiet.id, "").await.last().unwrap().exit_code, Some(7));
    assert_eq!(agent.signal_exec(&terminal.id, "SIGKILL").await.status(), 200);
    assert_eq!(agent.finish(&terminal.id).await.exit_code(), 137);

    for autostart in [true, false] {
        let request = json!({ "command": "true", "args": [], "autostart": autostart });
        let refused = refused_create(&agent, request).await;
        assert_eq!(refused.status(), 503);
        let message = message_of(refused).await;
        assert!(message.contains("ulimit -u") && message.contains("os error 11"), "{message}");
    }
    let listed = agent.list().await;
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert_eq!(listed[0].status, ExecStatus::Running);
    let kept = fs::read_dir(directory.path().join("execs")).unwrap().count();
    assert_eq!(kept, 3, "a create that is refused leaves nothing");
    assert_eq!(agent.delete(&quiet.id).await.status(), 200);

    assert_eq!(agent.signal_exec(&bomb.id, "SIGKILL").await.status(), 200);
    let ended = agent.finish(&bomb.id).await;
    assert_eq!(ended.exit_code(), 137);
    assert_eq!(agent.get(&bomb.id).await.status, ExecStatus::Stopped);
    until("nothing of it is left", async || agent.signal_exec(&bomb.id, "0").await.status() == 409)
        .await;
    assert_eq!(agent.run("echo again").await.output(), "again\n");
}

#[tokio::test]
async fn without_memory_for_more_what_runs_is_seen_and_stopped() {
    let agent = Agent::start();
    let quiet = agent.sh("echo first; read x; seq 1 100000; echo second; exit 7").await;
    let mut stream = agent.stream(&quiet.id, "").await;
    stream.until_output("first\n").await;
    let before = limit_memory(&agent, 48 * 1024);

    let mut sleeping = Vec::new();
    let refused = loop {
        let answer = agent.try_create(json!({ "command": "sleep", "args": ["300"] })).await;
        if answer.status() != 201 {
            break answer;
        }
        sleeping.push(answer.json::<ExecItem>().await.unwrap());
        assert!(sleeping.len() < 500, "none is refused");
    };
    assert_eq!(refused.status(), 503);
    let message = message_of(refused).await;
    assert!(message.contains("memory"), "{message}");
    assert_eq!(agent.list().await.len(), sleeping.len() + 1);

    // What takes much is refused, too.
    let large = "x".repeat(8 << 20);
    assert_eq!(agent.write(&quiet.id, &large).await.status(), 503);

    assert_eq!(agent.write(&quiet.id, "\n").await.status(), 200);
    let output = stream.until_output("second\n").await;
    assert!(output.contains("\n99999\n100000\n"));
    assert_eq!(stream.next_output().await.unwrap().exit_code, Some(7));
    assert_eq!(agent.finish(&quiet.id).await.exit_code(), 7);
    for exec in &sleeping {
        assert_eq!(agent.delete(&exec.id).await.status(), 200);
        assert!(!lives(exec.pid));
    }
    assert_eq!(agent.run("echo again").await.output(), "again\n");
    limit(&agent, Resource::As, before);
}

#[tokio::test]
async fn many_creates_and_large_bodies_at_once_do_not_take_more_memory_than_there_is() {
    // It knows from its start that there is a limit.
    let agent = Arc::new(Agent::with(|command| under(command, "--as=8589934592:")));
    let reader = agent.sh("cat >/dev/null").await;
    let before = limit_memory(&agent, 160 * 1024);

    let mut requests = JoinSet::new();
    // Made before there is a connection: the agent closes one on which no request comes for 10 s.
    let large = json!({ "type": "stdin", "input": "x".repeat(12 << 20) }).to_string();
    for _ in 0..12 {
        let request = agent.request(Method::POST, &format!("/api/v1/execs/{}/io", reader.id));
        let request = request.header("Content-Type", "application/json").body(large.clone());
        requests.spawn(async move { within(request.send()).await.unwrap().status().as_u16() });
    }
    for _ in 0..60 {
        let agent = Arc::clone(&agent);
        let request = json!({ "command": "sleep", "args": ["300"] });
        requests.spawn(async move { agent.try_create(request).await.status().as_u16() });
    }
    let answers = requests.join_all().await;
    // Also that of a body is read by a client that first sends all of it.
    assert!(answers.iter().all(|status| [200, 201, 429, 503].contains(status)), "{answers:?}");
    assert!(answers.contains(&503), "{answers:?}");
    assert_eq!(agent.get(&reader.id).await.status, ExecStatus::Running);
    for exec in agent.list().await {
        assert_eq!(agent.delete(&exec.id).await.status(), 200);
    }
    assert_eq!(agent.run("echo again").await.output(), "again\n");
    limit(&agent, Resource::As, before);
}

#[tokio::test]
async fn a_body_that_there_is_no_memory_for_is_answered_after_all_of_it() {
    let agent = Agent::start();
    let reader = agent.sh("cat >/dev/null").await;
    let before = limit_memory(&agent, 48 * 1024);

    let address = agent.url.strip_prefix("http://").unwrap();
    let mut stream = within(TcpStream::connect(address)).await.unwrap();
    let request = |line: &str, body: &str| {
        let length = body.len();
        format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {ADMIN}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let large = json!({ "type": "stdin", "input": "x".repeat(12 << 20) }).to_string();
    let path = format!("/api/v1/execs/{}", reader.id);
    let large = request(&format!("POST {path}/io"), &large);
    // All of it before any of the answer is read, and the next request after it on the same connection.
    within(stream.write_all(large.as_bytes())).await.unwrap();
    let mut answers = BufReader::new(&mut stream);
    assert_eq!(within(status_line(&mut answers)).await, "HTTP/1.1 503 Service Unavailable\r\n");
    within(stream.write_all(request(&format!("GET {path}"), "").as_bytes())).await.unwrap();
    let mut answers = BufReader::new(&mut stream);
    assert_eq!(within(status_line(&mut answers)).await, "HTTP/1.1 200 OK\r\n");
    limit(&agent, Resource::As, before);
}

/// Reads an answer with a body; gives its first line.
async fn status_line(answers: &mut BufReader<&mut TcpStream>) -> String {
    let (mut first, mut length) = (String::new(), 0);
    answers.read_line(&mut first).await.unwrap();
    loop {
        let mut line = String::new();
        answers.read_line(&mut line).await.unwrap();
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    answers.read_exact(&mut vec![0; length]).await.unwrap();
    first
}
