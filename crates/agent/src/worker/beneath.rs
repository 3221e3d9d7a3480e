use std::{
    ffi::OsStr,
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2},
    io::Errno,
};

/// How often it is tried while names are exchanged.
const ROUNDS: u32 = 64;
/// To what only names are looked up in.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const READABLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A directory that nothing leads out of: directories below it are opened beneath it alone, whatever links say (openat2(2),
/// `RESOLVE_BENEATH`).
pub(super) struct Beneath {
    root: OwnedFd,
    /// That of the last one that was asked for.
    last: Option<(PathBuf, OwnedFd)>,
}

/// Whether directories that are missing are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Refuse,
}

impl Beneath {
    pub(super) fn new(root: OwnedFd) -> Self {
        Self { root, last: None }
    }

    /// A directory below the root, by a path that has neither `..` nor a slash at its beginning.
    ///
    /// # Errors
    /// `EXDEV` where it leads out of the root.
    pub(super) fn directory(&mut self, path: &Path, missing: Missing) -> Result<OwnedFd, Errno> {
        if let Some((last, directory)) = &self.last
            && last == path
        {
            return clone(directory);
        }
        let directory = match open(&self.root, path, DIRECTORY) {
            Err(Errno::NOENT) if missing == Missing::Make => self.make(path)?,
            opened => opened?,
        };
        self.last = Some((path.to_owned(), clone(&directory)?));
        Ok(directory)
    }

    /// The same, open for its attributes.
    pub(super) fn readable(&self, path: &Path) -> Result<OwnedFd, Errno> {
        open(&self.root, path, READABLE)
    }

    fn make(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let mut above = clone(&self.root)?;
        let mut below = PathBuf::new();
        for name in path {
            below.push(name);
            above = match open(&self.root, &below, DIRECTORY) {
                Err(Errno::NOENT) => {
                    match mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno),
                    }
                    open(&self.root, &below, DIRECTORY)?
                }
                opened => opened?,
            };
        }
        Ok(above)
    }
}

fn clone(descriptor: &OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(descriptor, 0)
}

/// Opens a path beneath a directory.
///
/// # Errors
/// `EXDEV` where it leads out of that.
pub(super) fn open(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if path.as_os_str().is_empty() {
        return openat(root, ".", flags, Mode::empty());
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..ROUNDS {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // A name was exchanged while a link with `..` was followed.
            Err(Errno::AGAIN) => {}
            // Before Linux 5.6, or where a filter does not know it.
            Err(Errno::NOSYS | Errno::PERM) => return walk(root, path, flags),
            opened => return opened,
        }
    }
    walk(root, path, flags)
}

/// Opens a directory by an absolute path that has no symbolic link in it.
///
/// # Errors
/// `EXDEV` where it has one.
pub(super) fn open_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, DIRECTORY, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => {
            let root = openat(CWD, "/", DIRECTORY, Mode::empty())?;
            walk(&root, path.strip_prefix("/").unwrap_or(path), DIRECTORY)
        }
        Err(Errno::LOOP) => Err(Errno::XDEV),
        opened => opened,
    }
}

/// The same name by name, where no link is followed at all.
fn walk(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let step = |at: &OwnedFd, name: &OsStr, flags: OFlags| {
        openat(at.as_fd(), name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|errno| {
            match errno {
                Errno::LOOP => Errno::XDEV,
                errno => errno,
            }
        })
    };
    let mut at = clone(root)?;
    let mut names = path.components().peekable();
    while let Some(component) = names.next() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV);
        };
        at = step(&at, name, if names.peek().is_some() { DIRECTORY } else { flags })?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::symlink};

    use rustix::fs::fstat;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn nothing_leads_out_with_and_without_the_systems_help() {
        let directory = TempDir::new().unwrap();
        let root = directory.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir(directory.path().join("outside")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("/", root.join("absolute")).unwrap();
        symlink("../../outside", root.join("a/out")).unwrap();
        symlink("a/b", root.join("within")).unwrap();
        let open_root = || OwnedFd::from(File::open(&root).unwrap());
        let mut beneath = Beneath::new(open_root());
        for out in ["up", "up/outside", "absolute", "absolute/etc", "a/out", "a/out/x"] {
            let opened = beneath.directory(Path::new(out), Missing::Make);
            assert_eq!(opened.unwrap_err(), Errno::XDEV, "{out}");
            let walked = walk(&open_root(), Path::new(out), DIRECTORY);
            assert!(matches!(walked, Err(Errno::XDEV | Errno::NOTDIR)), "{out}");
        }
        let climbed = walk(&open_root(), Path::new("a/../../outside"), DIRECTORY);
        assert_eq!(climbed.unwrap_err(), Errno::XDEV);
        let inode = |fd: &OwnedFd| fstat(fd).unwrap().st_ino;
        let within = beneath.directory(Path::new("within"), Missing::Refuse).unwrap();
        let plain = beneath.directory(Path::new("a/b"), Missing::Refuse).unwrap();
        assert_eq!(inode(&within), inode(&plain));
        let missing = beneath.directory(Path::new("a/new/one"), Missing::Refuse);
        assert_eq!(missing.unwrap_err(), Errno::NOENT);
        beneath.directory(Path::new("a/new/one"), Missing::Make).unwrap();
        assert!(root.join("a/new/one").is_dir());
        assert_eq!(std::fs::read_dir(directory.path().join("outside")).unwrap().count(), 0);
    }
}
