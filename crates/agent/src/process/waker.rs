use std::os::fd::{AsFd, BorrowedFd};

use nix::{
    errno::Errno,
    sys::eventfd::{EfdFlags, EventFd},
};

/// Wakes the thread that waits for a process's output.
#[derive(Debug)]
pub(crate) struct Waker(EventFd);

impl Waker {
    pub(super) fn new() -> Result<Self, Errno> {
        EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Self)
    }

    /// Wakes it, now or as soon as it waits. It takes nothing that could be used up.
    pub(crate) fn wake(&self) {
        // It would be full after 2^64 times (eventfd(2)), and would wake all the same.
        let _full = self.0.write(1);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
