use std::{
    fs::File,
    io::{self, IoSliceMut},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use rustix::io::{ReadWriteFlags, preadv2};
use sandpipe_protocol::frame::whole_frames_len;

/// One part of a spool, a file or a piece of memory. It begins and ends between two events.
#[derive(Debug)]
pub(in crate::output) struct Segment {
    place: Place,
    /// The number of its first event.
    pub(in crate::output) first: u64,
    /// The number of its last event. In between none is missing.
    last: AtomicU64,
    /// The position of its first byte.
    pub(in crate::output) start: u64,
    /// The position behind its last byte. It is here, and not in the index, since a reader that has
    /// the file open reads it to its end also after it was dropped.
    end: AtomicU64,
}

/// Storage of a segment.
#[derive(Debug)]
pub(super) enum Place {
    File(PathBuf),
    /// Output that could not be written to a file.
    Memory(Mutex<Vec<u8>>),
}

impl Segment {
    /// A segment that begins with the event of number `first`, at a position.
    pub(super) fn new(place: Place, first: u64, start: u64) -> Self {
        let last = AtomicU64::new(first.saturating_sub(1));
        Self { place, first, last, start, end: AtomicU64::new(start) }
    }

    pub(in crate::output) fn last(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    pub(in crate::output) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The path of its file; `None` where it is in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// Its bytes, where it is in memory.
    pub(super) fn memory(&self) -> Option<MutexGuard<'_, Vec<u8>>> {
        match &self.place {
            Place::File(_) => None,
            Place::Memory(bytes) => Some(bytes.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Reads from a position up to another one, or the end, where it is in memory.
    pub(in crate::output) fn read_memory(&self, position: u64, until: u64) -> Option<Bytes> {
        let bytes = self.memory()?;
        let [from, to] = [position, until.min(self.end())]
            .map(|position| usize::try_from(position.saturating_sub(self.start)));
        bytes.get(from.ok()?..to.ok()?).map(Bytes::copy_from_slice)
    }

    pub(super) fn len(&self) -> u64 {
        self.end() - self.start
    }

    /// The bytes before `end` have been written, and with them the events up to `last`.
    pub(super) fn advance(&self, last: u64, end: u64) {
        self.last.store(last, Ordering::Release);
        self.end.store(end, Ordering::Release);
    }

    pub(in crate::output) fn open(&self) -> io::Result<File> {
        File::open(self.path().ok_or(io::ErrorKind::NotFound)?)
    }

    /// Reads whole frames from a position on without waiting for the disk; returns how many bytes, or `None` where it would have to wait.
    pub(in crate::output) fn read_now(
        &self,
        file: &File,
        position: u64,
        bytes: &mut [u8],
    ) -> Option<usize> {
        let mut room = [IoSliceMut::new(bytes)];
        // What is wrong is found when it is read otherwise.
        let read = preadv2(file, &mut room, position - self.start, ReadWriteFlags::NOWAIT).ok()?;
        whole_frames_len(bytes.get(..read)?).ok().filter(|len| *len > 0)
    }

    /// Reads whole frames from a position on; returns how many bytes. What there is room for has to be before the segment's end, and
    /// be one frame at least.
    pub(in crate::output) fn read(
        &self,
        file: &File,
        position: u64,
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        file.read_exact_at(bytes, position - self.start)?;
        let invalid = |problem| io::Error::new(io::ErrorKind::InvalidData, problem);
        match whole_frames_len(bytes) {
            Ok(0) => Err(invalid("there is no whole frame".to_owned())),
            Ok(len) => Ok(len),
            Err(error) => Err(invalid(error.to_string())),
        }
    }
}
