use std::{
    ffi::OsString,
    ops::Deref,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, fstat, openat, readlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::{
    beneath,
    metadata::{Attributes, Kind, Metadata},
    path_bytes,
};

/// The path of a file as a client names it, and the directory that it must not lead out of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedPath {
    /// Absolute.
    #[serde(with = "path_bytes")]
    path: PathBuf,
    /// None where it may lead anywhere.
    root: Option<Vec<u8>>,
}

/// Place to which paths may lead.
pub(super) enum Reach {
    Anywhere,
    /// A directory that nothing leads out of: no link, no `..`, and no exchange of names meanwhile.
    Beneath {
        path: PathBuf,
        directory: OwnedFd,
    },
}

impl NamedPath {
    pub(crate) fn new(path: &Path, root: Option<&Path>) -> Self {
        Self { path: path.into(), root: root.map(|root| root.as_os_str().as_bytes().to_vec()) }
    }

    /// Returns whether it is confined to a directory.
    pub(super) fn is_confined(&self) -> bool {
        self.root.is_some()
    }

    /// Opens the directory that it is confined to.
    ///
    /// # Errors
    /// `EXDEV` where a symbolic link has come into the path of that directory.
    pub(super) fn reach(&self) -> Result<Reach, Errno> {
        let Some(root) = &self.root else {
            return Ok(Reach::Anywhere);
        };
        let path = PathBuf::from(OsString::from_vec(root.clone()));
        let directory = beneath::open_without_links(&path)?;
        Ok(Reach::Beneath { path, directory })
    }

    /// Opens it, and follows links.
    ///
    /// # Errors
    /// `EXDEV` where it leads out of its directory.
    pub(super) fn open(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.reach()?.open(&self.path, flags)
    }
}

impl Deref for NamedPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Reach {
    /// Opens a path, and follows links.
    ///
    /// # Errors
    /// `EXDEV` where it leads out.
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        match self {
            Self::Anywhere => openat(CWD, path, flags, Mode::empty()),
            Self::Beneath { path: root, directory } => {
                let below = path.strip_prefix(root).map_err(|_| Errno::XDEV)?;
                beneath::open(directory, below, flags)
            }
        }
    }

    /// Returns the permission bits that a file may get. In a directory that nothing leads out of, it
    /// gets none that give the permissions of its owner or group to who executes it.
    pub(super) fn mode_bits(&self) -> u32 {
        match self {
            Self::Anywhere => 0o7777,
            Self::Beneath { .. } => 0o777,
        }
    }

    /// Says what is known of a path. A link that leads out is described by itself alone.
    pub(super) fn metadata(&self, path: &Path) -> Result<Metadata, Errno> {
        if matches!(self, Self::Anywhere) {
            return Metadata::of(CWD, path.as_os_str());
        }
        let file = self.open(path, OFlags::PATH | OFlags::NOFOLLOW)?;
        let own = fstat(&file)?;
        if Kind::of(&own) != Kind::Symlink {
            let attributes = Attributes::of(&own);
            return Ok(Metadata { kind: attributes.kind, link: None, attributes });
        }
        let link = readlinkat(&file, "", Vec::new())?.into_bytes();
        let target = self.open(path, OFlags::PATH).and_then(fstat).unwrap_or(own);
        let attributes = Attributes::of(&target);
        Ok(Metadata { kind: Kind::Symlink, link: Some(link), attributes })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use tempfile::TempDir;

    use super::*;
    use crate::worker::{
        failure::FailureKind,
        place::{Links, Place},
    };

    #[test]
    fn nothing_outside_of_the_directory_is_opened_described_or_found() {
        let directory = TempDir::new().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let root = base.join("dir");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(base.join("dir-evil")).unwrap();
        for file in ["dir/file", "dir/sub/file", "dir-evil/file", "secret"] {
            fs::write(base.join(file), "a longer text".repeat(file.len())).unwrap();
        }
        symlink("../secret", root.join("out")).unwrap();
        symlink(base.join("secret"), root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../file", root.join("sub/within")).unwrap();
        let named = |path: &str| NamedPath::new(&base.join(path), Some(&root));
        for within in ["dir/file", "dir/sub/file", "dir/sub/within", "dir/sub/../file"] {
            assert!(named(within).open(OFlags::RDONLY).is_ok(), "{within}");
        }
        for out in [
            "secret",
            "dir-evil/file",
            "dir/out",
            "dir/absolute",
            "dir/up/secret",
            "dir/../secret",
            "dir/sub/../../secret",
            "dir/up/dir/file",
            "",
        ] {
            let named = named(out);
            assert_eq!(named.open(OFlags::PATH).unwrap_err(), Errno::XDEV, "{out}");
            let found = Place::find(&named, Links::Follow).unwrap_err();
            assert_eq!(found.kind, FailureKind::Denied, "{out}");
        }
        // A new file behind a link, and the directory itself.
        for path in ["dir/up/new", "dir"] {
            let found = Place::find(&named(path), Links::Keep).unwrap_err();
            assert_eq!(found.kind, FailureKind::Denied, "{path}");
        }
        // A link that leads out says nothing of what it leads to.
        let described = |path: &str| {
            let named = named(path);
            named.reach().unwrap().metadata(&named).unwrap()
        };
        let out = described("dir/out");
        assert_eq!(out.link.as_deref(), Some(b"../secret".as_slice()));
        assert_eq!(out.attributes.kind, Kind::Symlink);
        assert_eq!(described("dir/sub/within").attributes.kind, Kind::File);
        assert_eq!(described("dir").kind, Kind::Directory);
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_leads_nowhere() {
        let directory = TempDir::new().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let root = base.join("dir");
        fs::create_dir(base.join("outside")).unwrap();
        fs::write(base.join("outside/file"), "").unwrap();
        symlink("outside", &root).unwrap();
        let named = NamedPath::new(&root.join("file"), Some(&root));
        assert_eq!(named.open(OFlags::RDONLY).unwrap_err(), Errno::XDEV);
    }
}
