use std::{
    io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

/// Why there is nothing more to be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    /// Nobody is there any more who is told.
    #[error("nobody listens")]
    Unheard,
    /// The watched directory is not there any more.
    #[error("the watched directory {0}")]
    Root(&'static str),
    /// There are as many watches as the system allows, or instances.
    #[error("{path}: the system allows no more watches: raise the limit ({sysctl}), or ignore directories with \"ignorePatterns\"", path = .path.display())]
    TooMany { path: PathBuf, sysctl: &'static str },
    #[error("{path}: {errno}", path = .path.display())]
    System { path: PathBuf, errno: Errno },
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Unheard
    }
}

/// Whether a directory can't be opened because it is not there any more, or is none, or is not for this user.
pub(super) fn is_gone(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::ACCESS
            | Errno::PERM
            | Errno::STALE
            | Errno::NODEV
    )
}

/// Why a directory can't be watched.
pub(super) fn refused(path: &Path, errno: Errno) -> End {
    let path = path.to_owned();
    match errno {
        Errno::NOSPC => End::TooMany { path, sysctl: "fs.inotify.max_user_watches" },
        errno => End::System { path, errno },
    }
}
