use std::{
    ffi::OsStr,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch},
    io::{Errno, ioctl_fionread},
};

use super::{disk::path_of, move_queue::RawEvent};

/// How much is read at once.
const BUFFER: usize = 64 * 1024;

/// The largest event: its fields, and a name of `NAME_MAX` with a NUL.
const MAX_EVENT: usize = 16 + 256;

/// What is told of a directory, and of what is in it as long as it has its name there.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    // What is written by mmap(2) is told of when the file is closed.
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

/// The system's side of a watch: an inotify instance.
#[derive(Debug)]
pub(super) struct Inotify {
    instance: OwnedFd,
    buffer: Vec<MaybeUninit<u8>>,
}

impl Inotify {
    pub(super) fn open() -> Result<Self, Errno> {
        let instance = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self { instance, buffer: vec![MaybeUninit::uninit(); BUFFER] })
    }

    /// Watches a directory; the same one has one number.
    pub(super) fn add(&self, directory: &OwnedFd) -> Result<i32, Errno> {
        add_watch(&self.instance, path_of(directory), EVENTS)
    }

    pub(super) fn remove(&self, watch: i32) {
        // It is gone where the directory is.
        let _gone = remove_watch(&self.instance, watch);
    }

    /// Reads what there is, as far as the buffer has room; returns whether there was something.
    pub(super) fn read(&mut self, mut take: impl FnMut(RawEvent)) -> Result<bool, Errno> {
        let mut reader = Reader::new(self.instance.as_fd(), &mut self.buffer);
        let mut has_read = false;
        while !has_read || !reader.is_buffer_empty() {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno),
            };
            let name = event.file_name().map_or(&[][..], |name| name.to_bytes());
            take(RawEvent {
                watch: event.wd(),
                flags: event.events(),
                cookie: event.cookie(),
                name: OsStr::from_bytes(name).to_owned(),
            });
            has_read = true;
        }
        Ok(has_read)
    }

    /// Reads all that waits now, and drops it but for overflows.
    pub(super) fn drop_waiting(&mut self, mut overflow: impl FnMut(RawEvent)) -> Result<(), Errno> {
        let mut waiting = ioctl_fionread(&self.instance)?;
        let mut take = |event: RawEvent| {
            if event.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                overflow(event);
            }
        };
        // A read leaves room for less than one event, unless there are no more.
        while waiting > 0 && self.read(&mut take)? {
            waiting = waiting.saturating_sub((BUFFER - MAX_EVENT) as u64);
        }
        Ok(())
    }
}

impl AsFd for Inotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.instance.as_fd()
    }
}
