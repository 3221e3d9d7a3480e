use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::record::Record;

/// The file with what is known of an exec besides its output.
const RECORD: &str = "exec.json";
/// What the name of a directory ends with that is being removed.
const REMOVED: &str = "removed";

/// An exec's directory on disk: its record, and the segments of its output.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Whether nothing may be written to it any more.
    removed: Mutex<bool>,
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, removed: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> io::Result<Record> {
        Ok(serde_json::from_slice(&fs::read(self.path.join(RECORD))?)?)
    }

    /// Writes the record. At any moment the old one or the new one is there, whole.
    pub(super) fn write(&self, record: &Record) -> io::Result<()> {
        let removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        if *removed {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let unfinished = self.path.join("exec.json.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        fs::rename(&unfinished, self.path.join(RECORD))
    }

    /// Removes it. An agent that dies meanwhile leaves nothing that looks like an exec.
    pub(super) fn remove(&self) {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        *removed = true;
        let path = self.path.with_extension(REMOVED);
        let result = fs::rename(&self.path, &path).and_then(|()| fs::remove_dir_all(&path));
        if let Err(error) = result
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, directory = %self.path.display(), "can't remove an exec");
        }
    }

    /// Whether an agent died while it removed this directory.
    pub(super) fn is_removed(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == REMOVED)
    }
}
