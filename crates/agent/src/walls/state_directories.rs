//! State directories of the other agents that run on this machine, with their tokens and the output of their commands.
//!
//! An agent locks its directory (flock(2)). `/proc/locks` names the process that has a lock, and the number of the file (proc(5)); the process
//! has the directory open.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
};

use crate::state_dir;

/// State directories, as they were found when they were looked for last.
#[derive(Debug, Default)]
pub(super) struct StateDirectories {
    known: BTreeMap<Lock, Holder>,
    paths: BTreeSet<PathBuf>,
}

/// Lock on a whole file or directory, which one process alone has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lock {
    pid: u32,
    /// Number of the file. That of the device differs from the one of stat(2) on some file systems.
    inode: u64,
}

/// Holder of a lock, as far as it is known.
#[derive(Debug)]
enum Holder {
    /// Agent with this state directory.
    Agent(PathBuf),
    /// Other program, or one that can't be looked at.
    Other,
    /// Program with a directory that may become one: an agent locks its directory before it makes something in it.
    Unknown,
}

impl StateDirectories {
    /// Returns the directories, without symbolic links in their paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.iter().cloned()
    }

    /// Finds the directories; returns whether there are others than before. It looks only at processes whose locks are new.
    pub(super) fn find(&mut self) -> bool {
        let table = fs::read_to_string("/proc/locks").unwrap_or_default();
        let mut known = std::mem::take(&mut self.known);
        for lock in locks(&table).filter(|lock| lock.pid != process::id()) {
            let holder = known.remove(&lock).filter(|holder| !matches!(holder, Holder::Unknown));
            self.known.insert(lock, holder.unwrap_or_else(|| lock.holder()));
        }
        let directories = self.known.values().filter_map(|holder| match holder {
            Holder::Agent(directory) => Some(directory.clone()),
            Holder::Other | Holder::Unknown => None,
        });
        let paths = directories.collect();
        let is_other = self.paths != paths;
        self.paths = paths;
        is_other
    }
}

impl Lock {
    /// Looks who holds it.
    fn holder(&self) -> Holder {
        let process = PathBuf::from(format!("/proc/{}", self.pid));
        // An agent in a sandbox is one of its commands, and what it makes theirs.
        let namespace = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
        let is_here = namespace(&process) == namespace(Path::new("/proc/self"));
        let entries = fs::read_dir(process.join("fd")).ok().filter(|_| is_here);
        let is_locked = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|file| file.is_dir() && file.ino() == self.inode)
        };
        let mut open = entries.into_iter().flatten().flatten();
        match open.find_map(|entry| fs::read_link(entry.path()).ok().filter(is_locked)) {
            None => Holder::Other,
            Some(path) if state_dir::is_used(&path) => Holder::Agent(path),
            Some(_) => Holder::Unknown,
        }
    }
}

/// Lists those locks of flock(2) that `/proc/locks` names which no other process shares. One that waits has none.
fn locks(table: &str) -> impl Iterator<Item = Lock> {
    table.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if fields.next()? != "FLOCK" || fields.nth(1)? != "WRITE" {
            return None;
        }
        let pid = fields.next()?.parse().ok()?;
        let inode = fields.next()?.rsplit(':').next()?.parse().ok()?;
        Some(Lock { pid, inode })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_locks_that_one_process_has_alone() {
        let table = "1: FLOCK  ADVISORY  WRITE 812 fe:00:1234567 0 EOF\n\
            1: -> FLOCK  ADVISORY  WRITE 813 fe:00:1234567 0 EOF\n\
            2: FLOCK  ADVISORY  READ 814 00:19:12 0 EOF\n\
            3: POSIX  ADVISORY  WRITE 815 00:19:13 0 EOF\n\
            4: LEASE  ACTIVE    WRITE 816 00:19:14 0 EOF\n\
            5: OFDLCK ADVISORY  WRITE -1 00:19:15 0 EOF\n\
            6: FLOCK  ADVISORY  WRITE -1 00:19:16 0 EOF\n\
            7: FLOCK  ADVISORY  WRITE x\n";
        let expected = [Lock { pid: 812, inode: 1_234_567 }];
        assert_eq!(locks(table).collect::<Vec<_>>(), expected);
    }
}
