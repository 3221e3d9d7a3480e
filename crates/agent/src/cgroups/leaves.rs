use std::{
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;

use super::{OwnedCgroup, cgroup};

const KIND: &str = "commands";
/// How many that can't be used again are removed when one is taken: many at once would hold that up.
const REMOVED_AT_ONCE: usize = 8;

/// The cgroups of commands without limits: one for each command of a box that is contained. One that is empty again is used again, since
/// a new one takes time; not so one that was killed, since there are kernels that kill what is forked into such a one from another, for
/// ever.
#[derive(Debug)]
pub(crate) struct Leaves {
    base: OwnedCgroup,
    free: Vec<Leaf>,
    killed: Vec<Leaf>,
    /// How many there have been.
    made: u64,
}

/// The cgroup of a command.
#[derive(Debug)]
pub(crate) struct Leaf(PathBuf);

impl Leaf {
    /// Its directory, for a process that is to be started in it.
    ///
    /// # Errors
    /// It is gone, or there is no descriptor left.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        File::open(&self.0).map(OwnedFd::from)
    }

    /// Whether it is as it was made: a command may have made others below it.
    fn is_new(&self) -> bool {
        // A directory has two links and one of each in it (stat(2)).
        fs::metadata(&self.0).is_ok_and(|metadata| metadata.nlink() == 2)
    }
}

impl Leaves {
    /// Makes a cgroup for those of all commands of a box, which is behind walls or isn't.
    ///
    /// # Errors
    /// That can't be here.
    pub(crate) fn make(has_walls: bool) -> io::Result<Self> {
        if has_walls {
            check_owner()?;
        }
        let base = OwnedCgroup::make(KIND)?;
        Ok(Self { base, free: Vec::new(), killed: Vec::new(), made: 0 })
    }

    /// The one that all are in.
    pub(crate) fn base(&self) -> &Path {
        self.base.path()
    }

    /// One that is empty.
    ///
    /// # Errors
    /// The system gives none.
    pub(crate) fn take(&mut self) -> io::Result<Leaf> {
        let first = self.killed.len().saturating_sub(REMOVED_AT_ONCE);
        for leaf in self.killed.drain(first..) {
            let _left = cgroup::remove(&leaf.0);
        }
        while let Some(leaf) = self.free.pop() {
            if leaf.is_new() {
                return Ok(leaf);
            }
            self.killed.push(leaf);
        }
        self.made += 1;
        let path = self.base.path().join(self.made.to_string());
        if let Err(error) = fs::create_dir(&path) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            // A command that may has removed them.
            self.base = OwnedCgroup::make(KIND)?;
            return self.take();
        }
        Ok(Leaf(path))
    }

    /// One in which nobody is any more, which was killed or wasn't.
    pub(crate) fn give_back(&mut self, leaf: Leaf, was_killed: bool) {
        if was_killed { self.killed.push(leaf) } else { self.free.push(leaf) }
    }
}

/// Behind walls root's box has no rights but those of a file's owner. A process is started in another cgroup only by who may write to
/// the one that both are in (cgroups(7), "Delegation containment").
fn check_owner() -> io::Result<()> {
    let own = cgroup::own().ok_or(io::ErrorKind::NotFound)?;
    let owner = fs::metadata(own.join("cgroup.procs"))?.uid();
    if owner == geteuid().as_raw() { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

impl Drop for Leaves {
    fn drop(&mut self) {
        // What is not empty is removed by the next agent.
        let _left = cgroup::remove(self.base.path());
    }
}
