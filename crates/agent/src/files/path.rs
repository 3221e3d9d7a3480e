use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use crate::worker::NamedPath;

/// The path of a file as a client names it, made absolute. Symbolic links in it have not been followed, and `..` is left to the
/// system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FilePath {
    absolute: PathBuf,
    /// The directory that it must not lead out of; none where it may lead anywhere.
    root: Option<Arc<Path>>,
}

/// What names no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidPath {
    #[error("the path holds a NUL character, which ends a path for the system")]
    Nul,
    #[error("the path climbs above /: it has more \"..\" than there are directories to leave")]
    AboveRoot,
}

impl FilePath {
    /// Beginning with a slash it is absolute, else relative to the workspace, which it is itself where it is empty.
    ///
    /// # Errors
    /// It names no file.
    pub(crate) fn new(path: &[u8], workspace: &Path) -> Result<Self, InvalidPath> {
        if path.contains(&0) {
            return Err(InvalidPath::Nul);
        }
        let base = if path.starts_with(b"/") { &[] } else { workspace.as_os_str().as_bytes() };
        let parts = [base, path].into_iter().flat_map(|path| path.split(|byte| *byte == b'/'));
        let mut absolute = Vec::with_capacity(base.len() + 1 + path.len());
        let mut depth = 0_usize;
        for part in parts.filter(|part| !matches!(*part, b"" | b".")) {
            depth = match part {
                b".." => depth.checked_sub(1).ok_or(InvalidPath::AboveRoot)?,
                _ => depth + 1,
            };
            absolute.push(b'/');
            absolute.extend_from_slice(part);
        }
        if absolute.is_empty() {
            absolute.push(b'/');
        }
        Ok(Self { absolute: OsString::from_vec(absolute).into(), root: None })
    }

    /// The same path, which does not lead out of a directory whatever links say. None where it is not below it.
    pub(crate) fn beneath(self, root: &Arc<Path>) -> Option<Self> {
        let is_plain = self.absolute.components().all(|part| part != Component::ParentDir);
        let is_below = is_plain && self.absolute.starts_with(root);
        is_below.then(|| Self { root: Some(Arc::clone(root)), ..self })
    }

    pub(crate) fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// As a client is shown it: what is not UTF-8 in it is U+FFFD.
    pub(crate) fn shown(&self) -> String {
        self.absolute.to_string_lossy().into_owned()
    }
}

impl From<&FilePath> for NamedPath {
    fn from(path: &FilePath) -> Self {
        Self::new(&path.absolute, path.root.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(path: &[u8]) -> Result<String, InvalidPath> {
        FilePath::new(path, Path::new("/work/space")).map(|path| path.shown())
    }

    #[test]
    fn a_relative_path_begins_at_the_workspace() {
        for (asked, expected) in [
            ("a/b", "/work/space/a/b"),
            ("", "/work/space"),
            (".", "/work/space"),
            ("./a//b/", "/work/space/a/b"),
            ("/etc/hosts", "/etc/hosts"),
            ("//etc/./hosts", "/etc/hosts"),
            ("/", "/"),
            ("../a", "/work/space/../a"),
            ("a/../b", "/work/space/a/../b"),
            ("../..", "/work/space/../.."),
            ("...", "/work/space/..."),
        ] {
            assert_eq!(path(asked.as_bytes()).unwrap(), expected, "{asked}");
        }
    }

    #[test]
    fn what_climbs_above_the_root_or_holds_a_nul_is_refused() {
        for climbing in ["../../..", "/..", "/a/../..", "a/../../../../b", "/../etc"] {
            assert_eq!(path(climbing.as_bytes()), Err(InvalidPath::AboveRoot), "{climbing}");
        }
        assert_eq!(path(b"a\0b"), Err(InvalidPath::Nul));
    }

    #[test]
    fn a_path_is_beneath_a_directory_by_whole_names_alone() {
        let root: Arc<Path> = Path::new("/work/space/dir").into();
        let is_beneath = |path: &str| {
            FilePath::new(path.as_bytes(), Path::new("/work/space"))
                .unwrap()
                .beneath(&root)
                .is_some()
        };
        for path in
            ["dir", "dir/", "dir/a", "/work/space/dir", "/work//space/./dir/a/b", "./dir/..."]
        {
            assert!(is_beneath(path), "{path}");
        }
        for path in [
            "dir-evil",
            "dir-evil/a",
            "",
            "/",
            "di",
            "dir/..",
            "dir/../dir/a",
            "dir/a/../b",
            "/dir/a",
        ] {
            assert!(!is_beneath(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_is_absolute_and_never_above_the_root(asked in "[a./]{0,12}") {
            if let Ok(path) = path(asked.as_bytes()) {
                prop_assert!(path.starts_with('/'));
                let depth = path.split('/').skip(1).try_fold(0_i32, |depth, part| {
                    let depth = if part == ".." { depth - 1 } else { depth + 1 };
                    (depth >= 0).then_some(depth)
                });
                prop_assert!(depth.is_some());
            }
        }
    }
}
