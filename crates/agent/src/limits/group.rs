use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use sandpipe_policy::walls::Held;

use super::controllers::{count, settings, value};
use crate::{cgroups, process::ReachedLimit};

/// The cgroup of a policy, with its limits. It has no process itself, but those of its commands.
#[derive(Debug)]
pub(crate) struct LimitGroup {
    path: PathBuf,
    memory: Option<u64>,
    processes: Option<u64>,
    /// How many commands there have been.
    commands: AtomicU64,
    /// The cgroups of commands of which something was left.
    left: Mutex<Vec<PathBuf>>,
    /// The one that it is in is not removed before.
    parent: Option<Arc<LimitGroup>>,
}

/// The cgroup of a command. It goes as soon as nobody is in it any more.
#[derive(Debug)]
pub(crate) struct ExecGroup {
    path: PathBuf,
    group: Arc<LimitGroup>,
    /// How often the policy's limit on memory had been reached before.
    reached_before: u64,
}

/// Has controllers divide what a cgroup has among those right below it.
pub(super) fn enable(cgroup: &Path, controllers: &[&str]) -> io::Result<()> {
    controllers
        .iter()
        .try_for_each(|name| fs::write(cgroup.join("cgroup.subtree_control"), format!("+{name}")))
}

impl LimitGroup {
    /// Makes it.
    ///
    /// # Errors
    /// The system refuses a limit. There is none then.
    pub(super) fn make(
        path: PathBuf,
        held: &[Held],
        controllers: &[&str],
        parent: Option<Arc<Self>>,
    ) -> io::Result<Arc<Self>> {
        fs::create_dir(&path)?;
        let group = Self {
            path,
            memory: value(held, "limits.memory"),
            processes: value(held, "limits.processes"),
            commands: AtomicU64::new(0),
            left: Mutex::default(),
            parent,
        };
        for (file, text) in settings(held) {
            fs::write(group.path.join(file), text)?;
        }
        let swap = group.path.join("memory.swap.max");
        // A kernel that can't swap has no such file.
        if group.memory.is_some() && swap.exists() {
            fs::write(swap, "0")?;
        }
        enable(&group.path, controllers)?;
        Ok(Arc::new(group))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the cgroup of a command; also returns its directory, for a process that is to be started in it.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn start_exec(self: &Arc<Self>) -> io::Result<(ExecGroup, OwnedFd)> {
        self.remove_left();
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("exec-{number}"));
        fs::create_dir(&path)?;
        let exec = ExecGroup { path, group: Arc::clone(self), reached_before: self.reached() };
        if self.memory.is_some() {
            // Half a command may write anything: all of its processes end together.
            fs::write(exec.path.join("memory.oom.group"), "1")?;
        }
        if let Some(processes) = self.processes {
            // Where it alone reaches the limit its own events tell of it, on all kernels.
            fs::write(exec.path.join("pids.max"), processes.to_string())?;
        }
        let directory = File::open(&exec.path)?;
        Ok((exec, directory.into()))
    }

    /// The limit on processes, if there is one, and no more processes can be started in it or in a wider policy's.
    pub(crate) fn full_of_processes(&self) -> Option<u64> {
        let wider = self.parent.as_ref().and_then(|wider| wider.full_of_processes());
        wider
            .or_else(|| self.processes.filter(|limit| number(&self.path, "pids.current") >= *limit))
    }

    /// How often the limit on memory has been reached.
    fn reached(&self) -> u64 {
        events(&self.path, "memory.events", "oom")
    }

    fn remove_left(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|path| path.exists() && cgroups::remove(path).is_err());
    }
}

impl Drop for LimitGroup {
    fn drop(&mut self) {
        // What of it is not empty goes at the agent's end.
        let _left = cgroups::remove(&self.path);
    }
}

impl ExecGroup {
    /// The limit by which the command has ended with that exit code, if it is known to be one.
    pub(crate) fn reached(&self, exit_code: i32) -> Option<ReachedLimit> {
        if exit_code == 0 {
            return None;
        }
        let LimitGroup { memory, processes, .. } = *self.group;
        // The machine's own lack of memory kills, too: it was the policy's limit only where that was reached.
        let was_killed = events(&self.path, "memory.events", "oom_kill") > 0;
        let of_memory = memory.filter(|_| was_killed && self.group.reached() > self.reached_before);
        let of_processes = processes.filter(|_| events(&self.path, "pids.events", "max") > 0);
        of_memory.map(ReachedLimit::Memory).or_else(|| of_processes.map(ReachedLimit::Processes))
    }
}

impl Drop for ExecGroup {
    fn drop(&mut self) {
        if cgroups::remove(&self.path).is_err() {
            let mut left = self.group.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.push(std::mem::take(&mut self.path));
        }
    }
}

fn number(cgroup: &Path, file: &str) -> u64 {
    let text = fs::read_to_string(cgroup.join(file)).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

fn events(cgroup: &Path, file: &str, name: &str) -> u64 {
    count(&fs::read_to_string(cgroup.join(file)).unwrap_or_default(), name)
}
