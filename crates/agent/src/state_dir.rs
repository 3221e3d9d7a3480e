use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::{ffi::OsStrExt, fs::DirBuilderExt},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
};

/// The directory with the agent's state, which is this agent's alone as long as this value lives.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// This agent made it.
    made: bool,
    /// Of the directory itself, so that no lock file is left behind. The system gives the lock back
    /// with the process, however that ends.
    _lock: Flock<File>,
}

/// Why the agent can't use its state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// No directory was named, and there is no home directory.
    #[error("neither --state-dir nor HOME is set: say with --state-dir where to keep the state")]
    NoHome,
    /// Another agent uses it.
    #[error(
        "another agent uses the state directory {}: stop it, or give this one its own with \
         --state-dir",
        .0.display()
    )]
    InUse(PathBuf),
    /// It can't be made or written to.
    #[error("the state directory {} can't be used: {error}", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl StateDir {
    /// Makes the directory where there is none, and takes it for this agent.
    pub(crate) fn take(path: &Path) -> Result<Self, StateDirError> {
        let unusable = |error| StateDirError::Unusable { path: path.into(), error };
        let made = make(path).map_err(unusable)?;
        let directory = File::open(path).map_err(unusable)?;
        let lock =
            Flock::lock(directory, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
                match errno {
                    Errno::EWOULDBLOCK => StateDirError::InUse(path.into()),
                    errno => unusable(errno.into()),
                }
            })?;
        let state_dir = Self { path: path.canonicalize().map_err(unusable)?, made, _lock: lock };
        state_dir.clear().map_err(unusable)?;
        Ok(state_dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where each exec has its spool.
    pub(crate) fn spools(&self) -> PathBuf {
        self.path.join("execs")
    }

    /// Leaves nothing of this agent behind; a directory that it made is removed unless something
    /// else is in it.
    pub(crate) fn leave(&self) -> io::Result<()> {
        self.clear()?;
        if !self.made {
            return Ok(());
        }
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            result => result,
        }
    }

    /// Removes the spools, and nothing else that is where they are.
    fn clear(&self) -> io::Result<()> {
        let entries = match fs::read_dir(self.spools()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            result => result?,
        };
        for entry in entries {
            let entry = entry?;
            if is_id(entry.file_name().as_bytes()) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        match fs::remove_dir(self.spools()) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            result => result,
        }
    }
}

/// Whether a name is an exec's id, and so a spool's: 32 hexadecimal digits.
fn is_id(name: &[u8]) -> bool {
    name.len() == 32 && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Makes a directory that only its owner may enter; says whether there was none.
fn make(path: &Path) -> io::Result<bool> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        result => result.map(|()| true),
    }
}

/// `sandpipe-agent` in the user's directory for state (XDG Base Directory Specification).
pub(crate) fn default_path() -> Result<PathBuf, StateDirError> {
    let given = |name| std::env::var_os(name).map(PathBuf::from);
    // "All paths set in these environment variables must be absolute. If an implementation
    // encounters a relative path [...] it should consider the path invalid and ignore it."
    let state_home = given("XDG_STATE_HOME").filter(|path| path.is_absolute());
    state_home
        .or_else(|| Some(given("HOME")?.join(".local/state")))
        .map(|state_home| state_home.join("sandpipe-agent"))
        .ok_or(StateDirError::NoHome)
}
