//! An agent whose disk is full, or whose files may not grow.

use std::{fs, ops::RangeInclusive, path::PathBuf, process::Command};

use reqwest::Method;
use rustix::process::Resource;

use crate::gaps::{self, Received};
use crate::limits::limit;
use crate::support::{Agent, message_of, needs, needs_root, under, until, within};

/// A disk of its own, which is gone with it.
pub(crate) struct Disk(tempfile::TempDir);

impl Disk {
    /// One of that size, as `mount` takes it. Where none can be mounted the test says so.
    pub(crate) fn of(size: &str) -> Option<Self> {
        if !needs_root("mount a disk") {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(directory.path());
        let can_mount = mount.status().unwrap().success();
        needs(can_mount, "the right to mount a file system").then(|| Self(directory))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// Writes a file until there is no room.
    pub(crate) fn fill(&self) {
        use std::io::Write;

        let mut file = fs::File::create(self.0.path().join("filler")).unwrap();
        while file.write(&[0; 4096]).is_ok() {}
    }

    pub(crate) fn empty(&self) {
        fs::remove_file(self.0.path().join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// What a stream says: the output, the numbers of its events, the first and last number of each
/// gap, and the exit code.
#[derive(Debug, Default, PartialEq, Eq)]
struct Summary {
    output: String,
    sequences: Vec<u64>,
    gaps: Vec<(u64, u64)>,
    exit_code: Option<i32>,
}

async fn summary_of(agent: &Agent, id: &str) -> Summary {
    let mut summary = Summary::default();
    for received in gaps::read(agent, id, "").await {
        match received {
            Received::Gap(gap) => summary.gaps.push((gap.from, gap.to)),
            Received::Event(event) => {
                summary.output += &event.output;
                summary.sequences.push(event.sequence);
                summary.exit_code = event.exit_code;
            }
        }
    }
    summary
}

async fn is_lost(agent: &Agent, id: &str) -> bool {
    let request = agent.request(Method::GET, &format!("/api/v1/execs/{id}/io"));
    let answer = within(request.send()).await.unwrap();
    let is_lost = answer.status() == 410;
    if is_lost {
        let message = message_of(answer).await;
        assert!(message.contains("the agent's disk is full"), "{message}");
    }
    is_lost
}

/// What `seq` prints.
fn numbers(numbers: RangeInclusive<u32>) -> String {
    let lines: Vec<_> = numbers.map(|number| number.to_string()).collect();
    lines.join("\n") + "\n"
}

#[tokio::test]
async fn output_on_a_full_disk_stays_in_memory() {
    let Some(disk) = Disk::of("1m") else { return };
    let agent = Agent::with_state(disk.path());
    let exec = agent.sh("echo first; read x; seq 1 10000; echo last; exit 7").await;
    agent.stream(&exec.id, "").await.until_output("first\n").await;
    disk.fill();
    assert_eq!(agent.write(&exec.id, "\n").await.status(), 200);
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 7).await;
    let all = format!("first\n{}last\n", numbers(1..=10_000));
    let summary = summary_of(&agent, &exec.id).await;
    assert_eq!((summary.gaps, summary.exit_code), (vec![], Some(7)));
    assert!(summary.output == all, "{} of {} bytes", summary.output.len(), all.len());
    let error = agent.get(&exec.id).await.output_error.unwrap();
    assert!(error.starts_with("the agent's disk is full: No space left"), "{error}");
    // A command is run all the same: one like `rm` makes room.
    let other = agent.sh("echo other; exit 5").await;
    assert_eq!(agent.finish(&other.id).await.output(), "other\n");
    assert!(!agent.state.join("execs").join(&other.id).join("exec.json.end").exists());
    disk.empty();
    let later = agent.sh("echo again").await;
    assert_eq!(agent.finish(&later.id).await.output(), "again\n");
    assert_eq!(agent.get(&later.id).await.output_error, None);
}

#[tokio::test]
async fn more_output_than_memory_takes_on_a_full_disk_is_a_gap_before_the_newest() {
    let Some(disk) = Disk::of("1m") else { return };
    let mut agent = Agent::with_state(disk.path());
    let script = "echo first; read x; seq 1 100000; read x; echo last; exit 7";
    let exec = agent.sh(script).await;
    agent.stream(&exec.id, "").await.until_output("first\n").await;
    disk.fill();
    assert_eq!(agent.write(&exec.id, "\n").await.status(), 200);
    until("some of it is lost", async || is_lost(&agent, &exec.id).await).await;
    until("all of it is written", async || {
        let newest = agent.output_now(&exec.id, "?lastSequence=-1").await;
        newest.last().is_some_and(|event| event.output.ends_with("\n100000\n"))
    })
    .await;
    disk.empty();
    assert_eq!(agent.write(&exec.id, "\n").await.status(), 200);
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 7).await;
    let summary = summary_of(&agent, &exec.id).await;
    assert_eq!((summary.exit_code, summary.gaps.len()), (Some(7), 1), "{:?}", summary.gaps);
    // What is there and what is said to be lost make the whole.
    let lost = summary.gaps.iter().flat_map(|(from, to)| *from..=*to);
    let mut sequences: Vec<_> = summary.sequences.iter().copied().chain(lost).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=summary.sequences.last().copied().unwrap()).collect::<Vec<_>>());
    let kept = summary.output.strip_prefix("first\n").unwrap().strip_suffix("last\n").unwrap();
    assert!(kept.len() > 64 * 1024 && kept.len() < 256 * 1024, "{}", kept.len());
    assert!(numbers(1..=100_000).ends_with(kept));

    // Memory is gone with the agent; what is missing then has the same reason.
    agent.kill();
    agent.restart();
    assert!(is_lost(&agent, &exec.id).await);
    let error = agent.get(&exec.id).await.output_error.unwrap();
    assert!(error.contains("disk is full"), "{error}");
    assert_eq!(summary_of(&agent, &exec.id).await.exit_code, Some(7));
}

#[tokio::test]
async fn output_is_kept_in_files_of_the_size_that_the_system_allows() {
    let agent = Agent::with(|command| under(command, "--fsize=65536:"));
    let exec = agent.sh("seq 1 100000; exit 7").await;
    let ended = agent.finish(&exec.id).await;
    assert!(ended.output() == numbers(1..=100_000), "{} bytes", ended.output().len());
    assert_eq!(ended.exit_code(), 7);
    assert_eq!(agent.get(&exec.id).await.output_error, None);
}

#[tokio::test]
async fn where_files_may_be_of_no_size_output_stays_in_memory() {
    let agent = Agent::start();
    limit(&agent, Resource::Fsize, Some(0));
    let exec = agent.sh("seq 1 10000; exit 7").await;
    let ended = agent.finish(&exec.id).await;
    assert!(ended.output() == numbers(1..=10_000), "{} bytes", ended.output().len());
    assert_eq!(ended.exit_code(), 7);
    let error = agent.get(&exec.id).await.output_error.unwrap();
    assert!(error.starts_with("the agent's files may not be so large (ulimit -f)"), "{error}");
}

#[tokio::test]
async fn an_exit_code_that_was_told_on_a_full_disk_outlives_the_agent() {
    let Some(disk) = Disk::of("1m") else { return };
    let mut agent = Agent::with_state(disk.path());
    let exec = agent.sh("echo first; read x; exit 7").await;
    agent.stream(&exec.id, "").await.until_output("first\n").await;
    disk.fill();
    assert_eq!(agent.write(&exec.id, "\n").await.status(), 200);
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 7);
    let item = agent.get(&exec.id).await;
    agent.kill();
    agent.restart();
    assert_eq!(agent.get(&exec.id).await, item);
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 7);
    disk.empty();
}
