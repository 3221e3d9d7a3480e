//! The program of this process, which may be replaced by another version while it runs.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

/// It leads to the program also where no path does any more (proc(5)).
const LINK: &str = "/proc/self/exe";

/// Its path; none where its file has been replaced or removed.
pub(super) fn path() -> Option<PathBuf> {
    let identity = |file: Metadata| (file.dev(), file.ino());
    let path = fs::canonicalize(LINK).ok()?;
    let is_running = identity(fs::metadata(&path).ok()?) == identity(fs::metadata(LINK).ok()?);
    is_running.then_some(path)
}

/// Opens it, wherever its file is.
pub(super) fn open() -> io::Result<File> {
    File::open(LINK)
}
