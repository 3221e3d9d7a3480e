use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap},
    fs,
};

use nix::unistd::{Pid, gettid};

use crate::sandbox::processes::{self, Process};

/// What the box finds when it looks at the processes that there are, as far as it has to: all groups that are looked at together
/// share one look.
#[derive(Debug, Default)]
pub(super) struct Survey {
    processes: OnceCell<Vec<Process>>,
}

impl Survey {
    /// What is known where nobody but leaders and their descendants are left.
    pub(super) fn without_orphans() -> Self {
        Self { processes: OnceCell::from(Vec::new()) }
    }

    /// The living descendants of the box, and itself. Where it is not their reaper all processes may be.
    pub(super) fn processes(&self) -> &[Process] {
        self.processes.get_or_init(|| {
            let all = processes::all();
            if is_reaper() { descendants(&all, &[Pid::this()]) } else { all }
        })
    }

    /// Those that are meant, and all that descend from them.
    pub(super) fn families(&self, is_meant: impl Fn(&Process) -> bool) -> Vec<Process> {
        let processes = self.processes();
        let meant = processes.iter().filter(|process| is_meant(process));
        let meant: Vec<Pid> = meant.map(|process| process.pid).collect();
        descendants(processes, &meant)
    }
}

/// Those of that number, and all that descend from them.
fn descendants(processes: &[Process], ancestors: &[Pid]) -> Vec<Process> {
    let mut children: HashMap<Pid, Vec<&Process>> = HashMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: BTreeSet<Pid> = ancestors.iter().copied().collect();
    let mut next: Vec<Pid> = found.iter().copied().collect();
    while let Some(pid) = next.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(child.pid) {
                next.push(child.pid);
            }
        }
    }
    processes.iter().filter(|process| found.contains(&process.pid)).copied().collect()
}

/// Whether what loses its parent falls to the box.
fn is_reaper() -> bool {
    std::process::id() == 1 || nix::sys::prctl::get_child_subreaper() == Ok(true)
}

/// Whether the box has children besides those that it started. Where the system does not say it may have.
pub(super) fn has_orphans(is_leader: impl Fn(Pid) -> bool) -> bool {
    // proc(5), /proc/pid/task/tid/children.
    let children = fs::read_to_string(format!("/proc/self/task/{}/children", gettid()));
    !is_reaper()
        || children.map_or(true, |children| {
            let mut pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
            pids.any(|pid| !is_leader(Pid::from_raw(pid)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_at_any_depth_and_others_are_not() {
        let process = |pid, parent| {
            let [pid, parent] = [pid, parent].map(Pid::from_raw);
            Process { pid, parent, group: pid, session: pid, started: 0 }
        };
        let processes =
            [(1, 0), (10, 1), (11, 10), (12, 11), (20, 1), (5, 12)].map(|(a, b)| process(a, b));
        let found = |ancestors: &[i32]| -> Vec<i32> {
            let ancestors: Vec<_> = ancestors.iter().copied().map(Pid::from_raw).collect();
            descendants(&processes, &ancestors).iter().map(|found| found.pid.as_raw()).collect()
        };
        assert_eq!(found(&[10]), [10, 11, 12, 5]);
        assert_eq!(found(&[12, 20]), [12, 20, 5]);
        assert_eq!(found(&[99]), [] as [i32; 0]);
    }
}
