//! What requests for files say, for the fuzz targets.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::FilePath;
use crate::ignore_patterns::IgnorePatterns;

/// The file that a path of a client's means.
#[must_use]
pub fn file_path(path: &[u8], workspace: &str) -> Option<PathBuf> {
    let path = FilePath::new(path, Path::new(workspace)).ok()?;
    Some(path.absolute().to_owned())
}

/// Whether a path is left out by a pattern; None where that is none.
#[must_use]
pub fn is_ignored(pattern: &str, path: &Path) -> Option<bool> {
    let patterns = IgnorePatterns::new([pattern]).ok()?;
    Some(patterns.matches(path.as_os_str().as_bytes()))
}
