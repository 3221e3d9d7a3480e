use std::{fmt, path::Path};

use serde::{Serialize, Serializer};

use super::PathPattern;
use crate::effective::Preset;

/// What commands may do with a file, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// It is not there for them.
    Hide,
    /// They have a directory of their own in its place, empty at first, which goes with them.
    Private,
    /// They may read it.
    Read,
    /// They may read and write it.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hide => "hide",
            Self::Private => "private",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// What a path gives commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRule {
    /// What they may do.
    pub access: Access,
    /// Where.
    pub path: PathPattern,
    /// Who says so.
    pub origin: Origin,
    /// What follows where the path doesn't exist.
    #[serde(skip)]
    pub if_missing: IfMissing,
}

impl FileRule {
    /// The same for one path that was found.
    pub(super) fn at(&self, path: &Path, if_missing: IfMissing) -> Self {
        let path = path.to_string_lossy().parse().unwrap_or_else(|_| self.path.clone());
        Self { path, if_missing, ..self.clone() }
    }
}

impl fmt::Display for FileRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.access, self.path, self.origin)
    }
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A preset.
    Preset(Preset),
    /// The policy itself.
    Policy,
    /// The agent, which keeps its own files out of reach under every policy.
    Agent,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(preset) => write!(f, "preset {preset}"),
            Self::Policy => f.write_str("policy"),
            Self::Agent => f.write_str("agent"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// Anything else.
    File,
}

/// What follows where a path without wildcards doesn't exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// The policy is in error.
    Fail,
    /// The rule is left out.
    Skip,
    /// Commands may not make it: what would be of this kind.
    Guard(Kind),
}
