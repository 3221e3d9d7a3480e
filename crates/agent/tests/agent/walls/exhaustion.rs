//! Attempts of the table that take more than there is: processes, memory, disk, output.

use std::{fs, os::unix::fs::MetadataExt, path::Path, process::Command, time::Duration};

use nix::unistd::geteuid;
use reqwest::Method;
use sandpipe_protocol::{ExecItem, ExecStatus, ExecStdout};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;

use super::{User, Walled, attempts::Outcome};
use crate::support::{
    Agent, MARKER, mark, marked, none_is_left, status_of, until, visible_directory,
};

/// Each process starts two, one of them in a session of its own, and goes on as a third, up to some hundred. None is started
/// where the file `fuse` is not there.
const BOMB: &str = include_str!("../../../../../tests/support/fork-bomb.sh");
/// The disk of workspace and agent, in MiB.
const DISK: u64 = 16;

/// A file system that is soon full; only root can mount one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let directory = visible_directory().filter(|_| geteuid().is_root())?;
        let size = format!("size={DISK}m,mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(directory.path());
        mount.status().ok().filter(std::process::ExitStatus::success)?;
        Some(Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// What they come to.
pub(super) async fn attempts(user: User, policy: &str) -> Vec<(String, Outcome)> {
    let args =
        ["--policy", policy, "--max-memory", "64MiB", "--best-effort", "--spool-limit", "1MiB"];
    let disk = SmallDisk::mount();
    let fill = |workspace: &Path, _: &Path| fs::write(workspace.join("fuse"), "").unwrap();
    let walled = match &disk {
        Some(disk) => {
            let directory = TempDir::new_in(disk.0.path()).unwrap();
            Walled::start_in(directory, user, &args, fill, |_, _| {})
        }
        None => Walled::start_with(user, &args, fill, |_, _| {}),
    };
    let agent = &walled.agent;
    let marker = format!("exhaustion {user:?} {policy}");
    vec![
        (
            "survive a stop as a fork bomb".into(),
            Outcome::of(bomb_survives(&walled, &marker).await),
        ),
        ("more memory than the limit".into(), Outcome::of(takes_memory(agent).await)),
        (
            "harm the agent by endless output".into(),
            Outcome::of(output_harms(&walled, &marker).await),
        ),
        (
            "harm the agent by a full disk".into(),
            if disk.is_some() {
                Outcome::of(full_disk_harms(&walled).await)
            } else {
                Outcome::NotTried
            },
        ),
    ]
}

/// How long an end may take, or a command, before an attempt has reached what it was after: a slow machine is to reach nothing.
pub(super) const ENOUGH: Duration = Duration::from_secs(50);

/// Whether the agent is not as well as it should be.
async fn is_harmed(agent: &Agent) -> bool {
    let next = timeout(ENOUGH, agent.run("exit 4")).await;
    !next.is_ok_and(|next| next.exit_code() == 4)
}

async fn bomb_survives(walled: &Walled, marker: &str) -> bool {
    let agent = &walled.agent;
    let env = json!({ "BOMB": BOMB, "LEFT": "5", MARKER: mark(marker) });
    let body = json!({ "command": "sh", "args": ["-c", BOMB], "env": env });
    let exec = agent.create(body).await;
    until("there are many", async || marked(marker).len() >= 100).await;
    agent.delete(&exec.id).await;
    let ended = timeout(ENOUGH, none_is_left(marker)).await;
    // One that was not stopped ends now.
    fs::remove_file(walled.workspace.join("fuse")).unwrap();
    ended.is_err() || is_harmed(agent).await
}

async fn takes_memory(agent: &Agent) -> bool {
    let script = "dd if=/dev/zero of=/dev/null bs=256M count=1";
    agent.run(script).await.exit_code() == 0 || is_harmed(agent).await
}

async fn output_harms(walled: &Walled, marker: &str) -> bool {
    let agent = &walled.agent;
    let body = json!({ "command": "yes", "args": [], "env": { MARKER: mark(marker) } });
    let exec = agent.create(body).await;
    let mut most = 0;
    // Some 100 MB of it.
    until("it has written much", async || {
        most = most.max(size(&agent.state));
        let path = format!("/api/v1/execs/{}/io?lastSequence=-1", exec.id);
        // The answer breaks off, maybe before it begins, where its event is dropped meanwhile.
        let Ok(answer) = agent.request(Method::GET, &path).send().await else {
            return false;
        };
        let newest = answer.json::<Vec<ExecStdout>>().await.unwrap_or_default();
        newest.last().is_some_and(|event| event.sequence >= 3000)
    })
    .await;
    let memory = status_of(agent.pid(), "VmRSS").unwrap();
    agent.delete(&exec.id).await;
    let ended = timeout(ENOUGH, none_is_left(marker)).await;
    most > 4 << 20 || memory > 100 << 10 || ended.is_err() || is_harmed(agent).await
}

/// Workspace and state directory are on a disk that the command fills up.
async fn full_disk_harms(walled: &Walled) -> bool {
    let agent = &walled.agent;
    let fill = "head -c 64M /dev/zero > large; echo x >> small || echo full; exit 9";
    let filled = agent.sh(fill).await;
    let told = exit_code(agent, &filled.id).await == 9;
    // Another one has its own exit code, or is refused with a reason.
    let next = agent.try_create(json!({ "command": "sh", "args": ["-c", "exit 4"] })).await;
    let is_true = if next.status() == 201 {
        let exec: ExecItem = next.json().await.unwrap();
        exit_code(agent, &exec.id).await == 4
    } else {
        let is_server_error = next.status().is_server_error();
        is_server_error && !crate::support::message_of(next).await.is_empty()
    };
    let _removed = fs::remove_file(walled.workspace.join("large"));
    !told || !is_true || is_harmed(agent).await
}

/// The exit code of a command whose output may be lost.
async fn exit_code(agent: &Agent, id: &str) -> i32 {
    let mut code = -1;
    until("it has ended", async || {
        let item = agent.get(id).await;
        code = item.exit_code;
        item.status == ExecStatus::Exited
    })
    .await;
    code
}

/// What the files of a directory take.
fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
