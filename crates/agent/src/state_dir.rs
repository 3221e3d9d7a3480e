use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg, OFlag},
};
use sandpipe_policy::walls::ADMIN_TOKEN;
use sha2::{Digest, Sha256};

use crate::{
    abandoned,
    owned_path::{OpenToOthers, check_directory},
};

/// Directory of the spools of an agent that keeps its state.
const KEPT: &str = "execs";
/// Directory of the spools of an agent that keeps nothing.
const EPHEMERAL: &str = "ephemeral-execs";

/// The directory with the agent's state, which is this agent's alone as long as this value lives.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    /// This agent made it.
    made: bool,
    keep: Keep,
    /// What is not to be kept has been removed.
    left: AtomicBool,
    /// Of the directory itself, so that no lock file is left behind. The system gives the lock back
    /// with the process, however that ends.
    _lock: Flock<File>,
}

/// What of the state outlives the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The execs and their output.
    State,
    Nothing,
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
    /// Others could read or change what the agent keeps.
    #[error(transparent)]
    Unsafe(#[from] OpenToOthers),
    /// It can't be made or written to.
    #[error("the state directory {} can't be used: {error}", path.display())]
    Unusable { path: PathBuf, error: io::Error },
}

impl StateDir {
    /// Makes the directory where there is none, and takes it for this agent.
    pub(crate) fn take(path: &Path, keep: Keep) -> Result<Self, StateDirError> {
        let unusable = |error| StateDirError::Unusable { path: path.into(), error };
        let made = make(path).map_err(unusable)?;
        let directory = OpenOptions::new()
            .read(true)
            .custom_flags(OFlag::O_DIRECTORY.bits())
            .open(path)
            .map_err(unusable)?;
        let lock =
            Flock::lock(directory, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
                match errno {
                    Errno::EWOULDBLOCK => StateDirError::InUse(path.into()),
                    errno => unusable(errno.into()),
                }
            })?;
        let path = check_directory(path, &lock).map_err(unusable)??;
        let state_dir = Self { path, made, keep, left: AtomicBool::new(false), _lock: lock };
        // What an agent left that was killed.
        remove_all(&state_dir.ephemeral()).map_err(unusable)?;
        if keep == Keep::Nothing {
            abandoned::remove_beside(&state_dir.path, EPHEMERAL);
        }
        Ok(state_dir)
    }

    /// Without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies the agent: the same after a restart on this directory.
    pub(crate) fn id(&self) -> String {
        let digest = Sha256::digest(self.path.as_os_str().as_bytes());
        let id = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
        format!("agent-{id:016x}")
    }

    /// Where each exec has its spool.
    pub(crate) fn spools(&self) -> PathBuf {
        match self.keep {
            Keep::State => self.path.join(KEPT),
            Keep::Nothing => self.ephemeral(),
        }
    }

    /// The index of the execs that have ended; None where nothing is to be known of them later.
    pub(crate) fn index(&self) -> Option<PathBuf> {
        (self.keep == Keep::State).then(|| self.path.join("ended-execs.jsonl"))
    }

    /// Removes what is not to be kept; also the directory, if this agent made it and nobody has put
    /// something else into it.
    pub(crate) fn leave(&self) -> io::Result<()> {
        // Then the place may be another agent's.
        if self.keep == Keep::State || self.left.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        remove_all(&self.ephemeral())?;
        if !self.made {
            return Ok(());
        }
        match fs::remove_file(self.admin_token()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            result => result,
        }
    }

    /// Where the token is that the agent makes.
    pub(crate) fn admin_token(&self) -> PathBuf {
        self.path.join(ADMIN_TOKEN)
    }

    /// The spools of an agent that keeps nothing. They are apart, so that the execs of one that keeps
    /// its state are left alone.
    fn ephemeral(&self) -> PathBuf {
        self.path.join(EPHEMERAL)
    }
}

/// An agent that could not start leaves it, too.
impl Drop for StateDir {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            tracing::warn!(%error, directory = %self.path.display(), "the state directory is left behind");
        }
    }
}

/// Returns whether an agent keeps its state in a directory.
pub(crate) fn is_used(directory: &Path) -> bool {
    [ADMIN_TOKEN, KEPT, EPHEMERAL].iter().any(|name| directory.join(name).exists())
}

fn remove_all(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Makes a directory that only its owner may enter; returns whether there was none.
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
