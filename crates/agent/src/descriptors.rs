//! Waiting for a file descriptor, where the agent or the system has none left.

use std::{io, time::Duration};

use nix::errno::Errno;

/// How long to wait where there is no descriptor for a file: another has to be closed first.
pub(crate) const DESCRIPTOR_PAUSE: Duration = Duration::from_millis(50);

/// Whether a file could not be opened because there was no descriptor for it.
pub(crate) fn lacks_descriptor(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EMFILE | Errno::ENFILE))
}
