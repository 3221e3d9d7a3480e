use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{Kind, git_layout::COMMONDIR};

/// What is made at a place that is not there, for something to be mounted on, so that commands can't make the place. It is removed when
/// nothing is mounted on it any more.
///
/// It is empty and has the sticky bit, which nobody else gives a file or a directory in which others may not write: so those that an
/// agent has left that was killed are known, and one that others use is not taken for the user's own. A file `commondir` of a repository
/// names the directory that it is in: git can't read an empty one, and with that takes the repository as it does without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Where.
    pub path: PathBuf,
    /// What is made.
    pub kind: Kind,
}

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

impl Placeholder {
    /// With which mode it is made.
    #[must_use]
    pub fn mode(&self) -> u32 {
        match self.kind {
            Kind::Directory => STICKY | 0o755,
            Kind::File => STICKY | 0o644,
        }
    }

    /// What a file holds.
    #[must_use]
    pub fn content(&self) -> &'static [u8] {
        content(&self.path)
    }

    /// The one that is there, if there is one.
    #[must_use]
    pub fn find(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        if metadata.mode() & (STICKY | WRITABLE_BY_OTHERS) != STICKY {
            return None;
        }
        let is_empty = |path: &Path| Some(fs::read_dir(path).ok()?.next().is_none());
        let kind = if metadata.is_dir() && is_empty(path)? {
            Kind::Directory
        } else if metadata.is_file() && holds(path, metadata.len(), content(path)) {
            Kind::File
        } else {
            return None;
        };
        Some(Self { path: path.to_owned(), kind })
    }
}

fn content(path: &Path) -> &'static [u8] {
    if path.ends_with(COMMONDIR) { b".\n" } else { b"" }
}

/// Returns whether a file of this length has this content.
fn holds(path: &Path, length: u64, content: &[u8]) -> bool {
    length == content.len() as u64
        && (content.is_empty() || fs::read(path).is_ok_and(|found| found == content))
}
