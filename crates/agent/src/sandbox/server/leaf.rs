use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// The cgroup that a command was started in. The box has its directory alone, which it may not see at any path of its own.
#[derive(Debug)]
pub(super) struct Leaf {
    directory: OwnedFd,
    path: PathBuf,
}

impl Leaf {
    pub(super) fn new(directory: OwnedFd) -> Self {
        // proc(5), /proc/pid/fd
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd()).into();
        Self { directory, path }
    }

    /// By this its files are found as long as this value is there.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for Leaf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}
