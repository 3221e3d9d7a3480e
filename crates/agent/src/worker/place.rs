use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, Stat, mkdirat, openat, readlinkat, statat, unlinkat},
    io::Errno,
};

use super::{
    failure::Failure,
    metadata::Kind,
    named_path::{NamedPath, Reach},
};

/// How often a symbolic link may lead to another one (as the system has it, `path_resolution(7)`).
const MAX_LINKS: usize = 40;
/// To what only names are looked up in.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where a path leads, down to a name in a directory, of which there may be nothing yet.
#[derive(Debug)]
pub(super) struct Place {
    /// The path that was followed to it.
    pub(super) path: PathBuf,
    /// The last directory on the way that is there.
    pub(super) directory: OwnedFd,
    /// Those below it that are not.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
    /// The permission bits that a file may get there.
    pub(super) mode_bits: u32,
}

/// Directories that were made, until it is known that they stay: else they are removed again, where nothing is in them.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Made(Vec<(OwnedFd, OsString)>);

/// Whether the last name of a path is followed where it is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    Keep,
}

impl Place {
    /// Finds the place of a path.
    ///
    /// # Errors
    /// It ends in no name, as `/` and `..` do, leads out of its directory, or the user may not look there.
    pub(super) fn find(path: &NamedPath, links: Links) -> Result<Self, Failure> {
        let reach = path.reach().map_err(|errno| Failure::system(path, errno))?;
        let mut path = path.to_path_buf();
        for _ in 0..=MAX_LINKS {
            let place = Self::find_name(&reach, path)?;
            let link = match (links, place.stat()?) {
                (Links::Follow, Some(stat)) if Kind::of(&stat) == Kind::Symlink => {
                    place.read_link()?
                }
                _ => return Ok(place),
            };
            // Where it is absolute it takes the place of all.
            path = place.path.parent().unwrap_or(Path::new("/")).join(link);
        }
        Err(Failure::system(&path, Errno::LOOP))
    }

    fn find_name(reach: &Reach, path: PathBuf) -> Result<Self, Failure> {
        let Some(Component::Normal(name)) = path.components().next_back() else {
            return Err(Failure::invalid(&path, "is a directory"));
        };
        let name = name.to_owned();
        let mut missing = Vec::new();
        let mut parent = path.parent().unwrap_or(Path::new("/"));
        let directory = loop {
            match reach.open(parent, DIRECTORY) {
                Ok(directory) => break directory,
                Err(Errno::NOENT) => match (parent.parent(), parent.components().next_back()) {
                    (Some(above), Some(Component::Normal(name))) => {
                        missing.push(name.to_owned());
                        parent = above;
                    }
                    _ => return Err(Failure::system(&path, Errno::NOENT)),
                },
                Err(errno) => return Err(Failure::system(&path, errno)),
            }
        };
        missing.reverse();
        Ok(Self { path, directory, missing, name, mode_bits: reach.mode_bits() })
    }

    /// That of the last directory that is there.
    pub(super) fn directory_path(&self) -> &Path {
        self.path.ancestors().nth(1 + self.missing.len()).unwrap_or(Path::new("/"))
    }

    /// What is there, if anything is.
    pub(super) fn stat(&self) -> Result<Option<Stat>, Failure> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(Failure::system(&self.path, errno)),
        }
    }

    fn read_link(&self) -> Result<OsString, Failure> {
        let link = readlinkat(&self.directory, &self.name, Vec::new());
        let link = link.map_err(|errno| Failure::system(&self.path, errno))?;
        Ok(OsString::from_vec(link.into_bytes()))
    }

    /// Makes the directories that are missing.
    pub(super) fn make_missing(&mut self) -> Result<Made, Failure> {
        let mut made = Made::default();
        for name in std::mem::take(&mut self.missing) {
            let failed = |errno| Failure::system(&self.path, errno);
            match mkdirat(&self.directory, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    let directory = self.directory.try_clone();
                    made.0.push((directory.map_err(|_| failed(Errno::MFILE))?, name.clone()));
                }
                // Somebody else has made it meanwhile.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            // Somebody could put a link there meanwhile.
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            self.directory =
                openat(&self.directory, &name, flags, Mode::empty()).map_err(failed)?;
        }
        Ok(made)
    }
}

impl Made {
    /// Lets them stay.
    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (directory, name) in self.0.iter().rev() {
            // Others may have put something there.
            let _in_use = unlinkat(directory, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Opens a directory in another one for reading its entries; a symbolic link is none.
pub(super) fn open_directory(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}
