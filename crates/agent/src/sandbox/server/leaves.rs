use std::{
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use nix::{
    libc,
    sys::wait::{WaitStatus, waitpid},
    unistd::ForkResult,
};

use super::fork::fork_into;
use crate::sandbox::cgroup;

/// The cgroups of a box: one for each command that is contained. One that is empty again is used again, since a new one takes time;
/// not so one that was killed, since there are kernels that kill what is forked into such a one from another, for ever.
#[derive(Debug)]
pub(super) struct Leaves {
    base: PathBuf,
    free: Vec<Leaf>,
    /// How many there have been.
    made: u64,
}

/// The cgroup of a command.
#[derive(Debug)]
pub(super) struct Leaf(PathBuf);

impl Leaf {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Opens it for a process that is to be started in it.
    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.0)
    }
}

impl Leaves {
    /// Makes a cgroup for those of all commands; `None` where that can't be, or processes can't be started and killed in it.
    pub(super) fn make() -> Option<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).ok()?;
        let base = cgroup::own()?.join(format!("sandpipe-{:016x}", u64::from_ne_bytes(random)));
        let mut leaves = Self { base, free: Vec::new(), made: 0 };
        let tried = leaves.take().and_then(|leaf| try_out(&leaf).map(|()| leaf));
        if let Ok(leaf) = tried {
            leaves.free.push(leaf);
            Some(leaves)
        } else {
            leaves.remove();
            None
        }
    }

    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// One that is empty.
    pub(super) fn take(&mut self) -> io::Result<Leaf> {
        if let Some(leaf) = self.free.pop() {
            return Ok(leaf);
        }
        self.made += 1;
        let path = self.base.join(self.made.to_string());
        if let Err(error) = fs::create_dir(&path) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            fs::create_dir(&self.base)?;
            fs::create_dir(&path)?;
        }
        Ok(Leaf(path))
    }

    /// One in which nobody is any more, which was killed or wasn't.
    pub(super) fn give_back(&mut self, leaf: Leaf, was_killed: bool) {
        // A directory has two links and one of each in it (stat(2)).
        let is_new = || fs::metadata(&leaf.0).is_ok_and(|metadata| metadata.nlink() == 2);
        if !was_killed && is_new() {
            self.free.push(leaf);
        } else {
            // Its command may have made others below it.
            let _left = cgroup::remove(&leaf.0);
        }
    }

    /// Removes all of them that are empty.
    pub(super) fn remove(&mut self) {
        self.free.clear();
        let _left = cgroup::remove(&self.base);
    }
}

/// Starts a process in a leaf, which ends by itself, and looks whether it can be killed.
///
/// # Errors
/// That can't be.
fn try_out(leaf: &Leaf) -> io::Result<()> {
    let directory = leaf.open()?;
    cgroup::open_kill(leaf.path())?;
    match fork_into(Some(directory.as_fd()))? {
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            status => Err(io::Error::other(format!("it ended with {status:?}"))),
        },
        // SAFETY: it ends the process and nothing else.
        #[allow(unsafe_code)]
        ForkResult::Child => unsafe { libc::_exit(0) },
    }
}
