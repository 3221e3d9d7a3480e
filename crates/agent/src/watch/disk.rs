use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, Stat, fstat, openat},
    io::Errno,
};

use super::tree::FileId;

/// How many bytes of a path are opened at once: the system takes 4096 (`PATH_MAX`), and directories may be deeper.
const MAX_STEP: usize = 3000;

const FLAGS: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens the directory to be watched; a symbolic link leads to it.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    open(CWD, root.as_os_str(), FLAGS.difference(OFlags::NOFOLLOW))
}

/// Opens a directory below another. What is a symbolic link itself is none.
pub(super) fn open_below(root: &Path, path: &Path) -> Result<OwnedFd, Errno> {
    let mut directory = open_root(root)?;
    let mut step = PathBuf::new();
    for name in path {
        if step.as_os_str().len() + name.len() > MAX_STEP {
            directory = open_in(&directory, step.as_os_str())?;
            step = PathBuf::new();
        }
        step.push(name);
    }
    if step.as_os_str().is_empty() { Ok(directory) } else { open_in(&directory, step.as_os_str()) }
}

/// Opens a directory in another.
pub(super) fn open_in(directory: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    open(directory, name, FLAGS)
}

fn open(directory: impl AsFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(test)]
    super::meanwhile::run();
    let opened = openat(directory, name, flags, Mode::empty());
    #[cfg(test)]
    super::meanwhile::run();
    opened
}

/// Where an open directory can be found, whatever it is called (proc(5), `/proc/pid/fd`).
pub(super) fn path_of(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

pub(super) fn id_of(directory: impl AsFd) -> Result<FileId, Errno> {
    fstat(directory).map(|stat| FileId::of(&stat))
}

/// Whether it is `.` or `..`, which every directory has.
pub(super) fn is_dots(name: &OsStr) -> bool {
    matches!(name.as_bytes(), b"." | b"..")
}

impl FileId {
    // The types of these fields differ by machine.
    #[allow(clippy::unnecessary_cast)]
    fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}
