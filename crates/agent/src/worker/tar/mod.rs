//! Tar streams (POSIX, pax): written and read entry by entry, with a bound on what one may take of memory.

mod read;
mod write;

pub(super) use read::{Entry, EntryKind, Reader, TarError};
pub(super) use write::{AppendError, Ended, Writer, Written};
