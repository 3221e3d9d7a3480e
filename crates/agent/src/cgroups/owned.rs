use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, eaccess};
use rustix::fs::{FlockOperation, flock};

use super::{
    cgroup::{own, remove},
    fork::try_out,
};

/// What the names of all cgroups begin with that agents make.
const PREFIX: &str = "sandpipe-";
/// How often another is made where one is removed before it is locked.
const TRIES: u32 = 16;

/// A cgroup that this agent has made right below its own, in which processes can be started and killed. It is locked as long as the
/// agent lives: the next one that makes any there removes those that are not.
#[derive(Debug)]
pub(crate) struct OwnedCgroup {
    path: PathBuf,
    /// Tells others that it is in use.
    _lock: File,
}

impl OwnedCgroup {
    /// Makes one of that kind below this process's own.
    ///
    /// # Errors
    /// There are no cgroups of version 2 here, this process may not divide its own, or the system can't start a process in one.
    pub(crate) fn make(kind: &str) -> io::Result<Self> {
        let parent = own().ok_or(io::ErrorKind::NotFound)?;
        // What is started here has to be allowed to leave it.
        eaccess(&parent.join("cgroup.procs"), AccessFlags::W_OK)?;
        remove_abandoned(&parent);
        for _ in 0..TRIES {
            let path = parent.join(format!("{PREFIX}{kind}-{:016x}", random()?));
            fs::create_dir(&path)?;
            // Before it is locked it may be taken for an abandoned one.
            if let Some(lock) = lock(&path)? {
                try_out(&path).inspect_err(|_| drop(fs::remove_dir(&path)))?;
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::Error::other("others remove what is made"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks a cgroup; `None` where it is gone or another has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let directory = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        directory => directory?,
    };
    let is_locked = flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok();
    let is_there = path.metadata().is_ok_and(|there| {
        directory
            .metadata()
            .is_ok_and(|locked| (locked.dev(), locked.ino()) == (there.dev(), there.ino()))
    });
    Ok((is_locked && is_there).then_some(directory))
}

/// Removes what agents have left that were killed, as far as nobody is in it.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    for name in &names {
        let path = parent.join(name);
        if let Ok(Some(_lock)) = lock(&path)
            && remove(&path).is_ok()
        {
            tracing::debug!(%name, "a cgroup that was left is removed");
        }
    }
}

fn random() -> io::Result<u64> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(u64::from_ne_bytes(random))
}
