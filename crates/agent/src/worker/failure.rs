use std::path::Path;

use axum::http::StatusCode;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Why something was not done, in words for who has asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

/// What a failure means to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FailureKind {
    /// What is asked for can't be done to what the path names.
    Invalid,
    /// The user may not.
    Denied,
    /// There is nothing of that name.
    Missing,
    /// Something else is there.
    Conflict,
    /// It is there already, and was to be new.
    Exists,
    TooLarge,
    /// The file system is full.
    NoSpace,
    /// The system has no room for it now.
    Busy,
    /// Nothing takes the connection.
    Unreachable,
    /// Anything else.
    System,
}

impl FailureKind {
    /// What a request is answered with that failed so.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::Denied => StatusCode::FORBIDDEN,
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::Exists => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable => StatusCode::BAD_GATEWAY,
            Self::System => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn invalid(path: &Path, what: &str) -> Self {
        Self::new(FailureKind::Invalid, format!("{} {what}", path.display()))
    }

    pub(crate) fn conflict(path: &Path, what: &str) -> Self {
        Self::new(FailureKind::Conflict, format!("{} {what}", path.display()))
    }

    /// What the system has refused about a path that was to be read: below a file there is nothing.
    pub(crate) fn reading(path: &Path, errno: Errno) -> Self {
        let failure = Self::system(path, errno);
        match errno {
            Errno::NOTDIR => Self { kind: FailureKind::Missing, ..failure },
            _ => failure,
        }
    }

    /// What the system has refused about a path.
    pub(crate) fn system(path: &Path, errno: Errno) -> Self {
        let described = match errno {
            // Nothing else is refused with it here: what can't be moved across file systems is copied.
            Errno::XDEV => "it leads out of the directory that the token is for",
            errno => nix::errno::Errno::from_raw(errno.raw_os_error()).desc(),
        };
        Self::new(kind(errno), format!("{}: {described}", path.display()))
    }
}

fn kind(errno: Errno) -> FailureKind {
    match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::XDEV => FailureKind::Denied,
        Errno::NOENT => FailureKind::Missing,
        Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR | Errno::BUSY | Errno::TXTBSY => {
            FailureKind::Conflict
        }
        Errno::ISDIR
        | Errno::LOOP
        | Errno::NAMETOOLONG
        | Errno::INVAL
        | Errno::NXIO
        | Errno::NODEV
        | Errno::OPNOTSUPP => FailureKind::Invalid,
        Errno::FBIG => FailureKind::TooLarge,
        Errno::NOSPC | Errno::DQUOT => FailureKind::NoSpace,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => FailureKind::Busy,
        _ => FailureKind::System,
    }
}
