use std::{io, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// Lets the runtime watch a descriptor. It needs the runtime's context.
pub(crate) fn watch(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor must stay open and the same as long as the runtime watches it. It is
    // owned here, and nothing gives out a mutable reference to it.
    #[allow(unsafe_code)]
    let watched = unsafe { AsyncFd::register_with_interest(fd, interest) };
    Ok(watched?)
}
