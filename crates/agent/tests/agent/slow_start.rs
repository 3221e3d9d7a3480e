//! A program on a file system that takes its time.

use std::{fs, os::fd::AsRawFd, sync::Arc, time::Duration};

use nix::{libc, sys::signal::Signal};
use reqwest::Method;
use sandpipe_protocol::ExecStatus;
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};

use crate::support::{Agent, children_of, lives, needs_root, until, within};

/// Which signal tells the holder that a lease is to be given back; of <asm-generic/fcntl.h>.
const F_SETSIG: i32 = 10;

/// A program that can't be executed for now: a lease on its file is held, and whoever opens the file
/// waits for it to be given back (fcntl(2), "Leases"), as for a file server that does not answer.
struct Leased {
    file: fs::File,
    path: tempfile::TempPath,
}

impl Leased {
    /// A copy of `sleep`.
    fn program() -> Self {
        let (_, path) = tempfile::NamedTempFile::new().unwrap().into_parts();
        fs::copy("/bin/sleep", &path).unwrap();
        let leased = Self { file: fs::File::open(&path).unwrap(), path };
        // A signal that is ignored by default: that of leases ends the process.
        assert_eq!(leased.fcntl(F_SETSIG, libc::SIGURG), 0);
        assert_eq!(leased.fcntl(libc::F_SETLEASE, libc::F_WRLCK), 0);
        leased
    }

    /// Whether somebody waits for the file.
    fn is_wanted(&self) -> bool {
        self.fcntl(libc::F_GETLEASE, 0) != libc::F_WRLCK
    }

    fn give_back(&self) {
        assert_eq!(self.fcntl(libc::F_SETLEASE, libc::F_UNLCK), 0);
    }

    fn fcntl(&self, operation: i32, argument: i32) -> i32 {
        // SAFETY: these operations take a number and touch no memory.
        #[allow(unsafe_code)]
        unsafe {
            libc::fcntl(self.file.as_raw_fd(), operation, argument)
        }
    }
}

#[tokio::test]
async fn a_program_that_is_slow_to_be_executed_holds_up_no_other() {
    let agent = Arc::new(Agent::start());
    let leased = Leased::program();
    let before = agent.sh("sleep 300 & echo $!; exec sleep 300").await;
    let member = agent.stream(&before.id, "").await.next_output().await.unwrap();
    let slow = tokio::spawn({
        let (agent, path) = (Arc::clone(&agent), leased.path.to_path_buf());
        async move { agent.create(json!({ "command": path, "args": ["0"] })).await }
    });
    until("it is being executed", async || leased.is_wanted()).await;

    for pty in [false, true] {
        let script = "(exit 3); sh -c 'sleep 0 & exit'; exit 4";
        let request = json!({ "command": "sh", "args": ["-c", script], "pty": pty });
        let exec = agent.create(request).await;
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 4);
    }
    let missing = agent.create(json!({ "command": "no-such-command", "args": [] })).await;
    assert_eq!(agent.finish(&missing.id).await.exit_code(), 127);
    assert_eq!(agent.delete(&before.id).await.status(), 200);
    assert!(!lives(before.pid));
    assert!(!lives(member.output.trim().parse().unwrap()));
    assert!(leased.is_wanted() && !slow.is_finished());

    leased.give_back();
    let exec = within(slow).await.unwrap();
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 0);
}

#[tokio::test]
async fn a_program_that_is_slow_to_be_executed_holds_up_no_end_and_does_not_outlive_it() {
    let mut agent = Agent::start();
    let leased = Leased::program();
    let process_box = agent.box_pid();
    let body = json!({ "command": &*leased.path, "args": ["300"] });
    let create = agent.request(Method::POST, "/api/v1/execs").json(&body).send();
    let create = tokio::spawn(create);
    until("it is being executed", async || leased.is_wanted()).await;
    let slow = children_of(process_box)[0];
    agent.signal(Signal::SIGTERM);
    // The second one hurries it; it takes no notice of one that comes with the first.
    until("it takes no more connections", async || {
        agent.anonymous(Method::GET, "/health").send().await.is_err()
    })
    .await;
    agent.signal(Signal::SIGTERM);
    agent.ended().await;
    assert!(!lives(slow) && !lives(process_box));
    create.abort();
}

#[tokio::test]
async fn a_program_that_begins_while_the_agent_stops_is_asked_to_end_as_well() {
    // Longer than this test waits: it ends in time only where it is asked to.
    let mut agent = Agent::with_limit("grace-period=1h");
    let leased = Leased::program();
    let process_box = agent.box_pid();
    let body = json!({ "command": &*leased.path, "args": ["7200"] });
    let create = agent.request(Method::POST, "/api/v1/execs").json(&body).send();
    let create = tokio::spawn(create);
    until("it is being executed", async || leased.is_wanted()).await;
    let slow = children_of(process_box)[0];
    agent.signal(Signal::SIGTERM);
    until("it takes no more connections", async || {
        agent.anonymous(Method::GET, "/health").send().await.is_err()
    })
    .await;
    leased.give_back();
    assert!(agent.ended().await.success());
    assert!(!lives(slow) && !lives(process_box));
    create.abort();
}

#[tokio::test]
async fn a_client_that_goes_away_during_a_create_leaves_an_exec_that_is_known() {
    let agent = Agent::start();
    let leased = Leased::program();
    let body = json!({ "command": &*leased.path, "args": ["0"] });
    let create = agent.request(Method::POST, "/api/v1/execs").json(&body).send();
    let create = tokio::spawn(create);
    until("it is being executed", async || leased.is_wanted()).await;
    create.abort();
    assert!(create.await.unwrap_err().is_cancelled());
    leased.give_back();
    until("it has ended", async || {
        let [exec] = agent.list().await.try_into().expect("it is the only one");
        (exec.status, exec.exit_code) == (ExecStatus::Exited, 0)
    })
    .await;
}

#[tokio::test]
async fn many_programs_that_are_slow_to_be_executed_hold_up_nothing_but_each_other() {
    // More than the threads on which the agent waits for the file system.
    const COUNT: usize = 550;
    // Less than the lease lasts (/proc/sys/fs/lease-break-time, 45 s by default).
    const PATIENCE: Duration = Duration::from_secs(30);
    let agent = Arc::new(Agent::start());
    let leased = Leased::program();
    let before = agent.sh("read x; echo $x; exit 3").await;
    let mut slow = JoinSet::new();
    for _ in 0..COUNT {
        let (agent, path) = (Arc::clone(&agent), leased.path.to_path_buf());
        let request = json!({ "command": path, "args": ["0"] });
        slow.spawn(async move { agent.try_create(request).await.status().as_u16() });
    }
    let others = async {
        until("all are known", async || agent.list().await.len() == COUNT + 1).await;
        assert_eq!(agent.write(&before.id, "hello\n").await.status(), 200);
        let finished = agent.finish(&before.id).await;
        assert_eq!((finished.output(), finished.exit_code()), ("hello\n".into(), 3));
        assert_eq!(agent.delete(&before.id).await.status(), 200);
        let waiting = agent.list().await.remove(0);
        assert_eq!(waiting.status, ExecStatus::Created);
        assert_eq!(agent.delete(&waiting.id).await.status(), 200);
    };
    timeout(PATIENCE, others).await.expect("it is held up");
    assert!(leased.is_wanted());

    leased.give_back();
    let mut answers = within(slow.join_all()).await;
    answers.sort_unstable();
    // One was deleted before its turn.
    assert_eq!(answers.pop(), Some(404));
    assert_eq!(answers, [201; COUNT - 1]);
}

#[tokio::test]
async fn a_user_who_stops_whatever_may_be_stopped_freezes_nobody_elses_commands() {
    if !needs_root("run commands as another user") {
        return;
    }
    let agent = Arc::new(Agent::start());
    // Nobody else's.
    let user = format!("{0}:{0}", 200_000 + std::process::id());
    let script = "trap '' STOP; echo ready; while :; do kill -STOP -1; done 2>/dev/null";
    let request =
        |script: &str| json!({ "command": "sh", "args": ["-c", script], "user": user, "cwd": "/" });
    let stopper = agent.create(request(script)).await;
    agent.stream(&stopper.id, "").await.until_output("ready").await;
    let mut theirs = JoinSet::new();
    for _ in 0..20 {
        let (agent, request) = (Arc::clone(&agent), request("sleep 300"));
        theirs.spawn(async move { agent.try_create(request).await.status() });
    }
    for _ in 0..20 {
        assert_eq!(agent.run("exit 3").await.exit_code(), 3);
    }
    assert_eq!(agent.delete(&stopper.id).await.status(), 200);
    // Its own are there as soon as they may go on.
    let going_on = agent.create(request("kill -CONT -1; exit 3")).await;
    assert_eq!(agent.finish(&going_on.id).await.exit_code(), 3);
    assert_eq!(within(theirs.join_all()).await, [201; 20]);
}
