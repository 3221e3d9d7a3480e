use std::{
    io, mem,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// How many bytes of paths are told together.
const BATCH: usize = 32 * 1024;

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    /// Absolute, as bytes; of a rename the old and the new one.
    pub(crate) paths: Vec<Vec<u8>>,
    /// When it was found, in microseconds since 1970.
    pub(crate) time: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ChangeKind {
    Added,
    Removed,
    /// What is in a file, or its attributes.
    Changed,
    Renamed,
    /// Some of what happened is not known.
    Overflow,
}

/// Entries that are reported when a directory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    Nothing,
    /// New directories with their contents. Clients know the rest.
    New,
    All,
}

/// Where changes are told. It blocks while nobody takes them.
pub(crate) trait Audience: AsFd {
    /// # Errors
    /// Nobody is there any more.
    fn tell(&mut self, changes: Vec<Change>) -> io::Result<()>;
}

/// What is told, in batches.
pub(crate) struct Changes<'a> {
    audience: &'a mut dyn Audience,
    root: PathBuf,
    batch: Vec<Change>,
    /// Of the paths in it.
    bytes: usize,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(audience: &'a mut dyn Audience, root: PathBuf) -> Self {
        Self { audience, root, batch: Vec::new(), bytes: 0 }
    }

    /// What ends or is readable when nobody is there any more.
    pub(super) fn audience(&self) -> BorrowedFd<'_> {
        self.audience.as_fd()
    }

    /// Tells something about paths relative to the root. Of changes to the same file that were not told yet one is told.
    pub(super) fn add(&mut self, kind: ChangeKind, paths: &[&Path]) -> io::Result<()> {
        let absolute = |path: &&Path| {
            // Joined with an empty path it would end with a slash.
            let is_root = path.as_os_str().is_empty();
            let path = if is_root { self.root.clone() } else { self.root.join(path) };
            path.as_os_str().as_bytes().to_vec()
        };
        let paths: Vec<_> = paths.iter().map(absolute).collect();
        if kind == ChangeKind::Changed
            && self.batch.last().is_some_and(|last| last.kind == kind && last.paths == paths)
        {
            return Ok(());
        }
        self.bytes += paths.iter().map(Vec::len).sum::<usize>();
        let time = crate::output::now().0;
        self.batch.push(Change { kind, paths, time });
        if self.bytes >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Tells what there is.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.bytes = 0;
        if self.batch.is_empty() {
            return Ok(());
        }
        self.audience.tell(mem::take(&mut self.batch))
    }
}
