use std::{io, path::PathBuf};

use super::FileRule;

/// Why the rules for files can't be held.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPlaces {
    /// What a rule names is not there.
    #[error("{0}: there is no {path}: make it, or take the rule out", path = .1.display())]
    Missing(FileRule, PathBuf),
    /// The agent's user has no home.
    #[error("{0}: it is not known where the home is: set HOME")]
    NoHome(FileRule),
    /// It can't be looked at.
    #[error("{0}: {path} can't be looked at: {2}", path = .1.display())]
    Unreadable(FileRule, PathBuf, io::Error),
    /// A symbolic link leads out of a place that commands may write: one of them may have made it.
    #[error("{0}: the symbolic link {link}, which a command could change, leads to {target}: name that itself, or take the link away", link = .1.display(), target = .2.display())]
    LeadsOut(FileRule, PathBuf, PathBuf),
    /// It matches too much.
    #[error(
        "{0}: matches more than {MAX_MATCHES} paths, or looks at more than {MAX_LOOKS}: name directories"
    )]
    TooMany(FileRule),
    /// A file in /dev or /proc.
    #[error(
        "{0}: /proc and what is in it are made anew for commands, as is /dev; only a device can be named, with \"write\""
    )]
    MadeAnew(FileRule),
    /// Only commands that are not to be walled in may write there.
    #[error("the workspace {} holds the home {}, so that commands could change what you run next: choose a directory in it", .0.display(), .1.display())]
    WorkspaceTooWide(PathBuf, PathBuf),
    /// What the agent keeps to itself.
    #[error("{0}: {path} is in what the agent keeps to itself", path = .1.display())]
    Protected(FileRule, PathBuf),
}

/// How many places one rule may mean.
pub(super) const MAX_MATCHES: usize = 2_000;
/// At how many names it may be looked for them.
pub(super) const MAX_LOOKS: usize = 1_000_000;
