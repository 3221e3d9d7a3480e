use std::{io, path::PathBuf};

use super::{FileRule, Origin};
use crate::effective::Preset;

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
    /// Commands may have made them, to keep the next sandbox from starting.
    #[error("there are more than {MAX_MATCHES} tool settings, such as {}, or more than {MAX_LOOKS} names where they may be: remove them, or leave that part out with --extend '!tool-settings'", .0.display())]
    TooManyToolSettings(PathBuf),
    /// A file in /dev or /proc.
    #[error(
        "{0}: /proc and what is in it are made anew for commands, as is /dev; only a device can be named, with \"write\""
    )]
    MadeAnew(FileRule),
    /// Only commands that are not to be walled in may write there.
    #[error("the workspace {} holds the home {}, so that commands could change what you run next: choose a directory in it with --workspace DIR", .0.display(), .1.display())]
    WorkspaceTooWide(PathBuf, PathBuf),
    /// Commands have another directory in its place.
    #[error("the workspace {path} is not there for commands, by the rule: {1}. What they write would be lost: choose another directory with --workspace DIR", path = .0.display())]
    WorkspaceNotThere(PathBuf, FileRule),
    /// A rule of a preset for the same place is narrower.
    #[error("{0}: it has no effect, as the rule {1} is for the same place and narrower: {advice}", advice = advice(.1))]
    NoEffect(FileRule, Box<FileRule>),
    /// What the agent keeps to itself.
    #[error("{0}: {path} is in what the agent keeps to itself", path = .1.display())]
    Protected(FileRule, PathBuf),
}

/// Says what to do about a rule that has no effect beside one of a preset.
fn advice(narrower: &FileRule) -> String {
    match narrower.origin {
        Origin::Preset(Preset::Strict) => {
            "name a directory in it, or choose the policy offline".to_owned()
        }
        Origin::Preset(preset) => {
            format!("name a path in it, or leave that part out with --extend '!{preset}'")
        }
        Origin::Policy | Origin::Agent => "take one of them out".to_owned(),
    }
}

/// How many places one rule may mean.
pub(super) const MAX_MATCHES: usize = 2_000;
/// At how many names it may be looked for them.
pub(super) const MAX_LOOKS: usize = 1_000_000;
