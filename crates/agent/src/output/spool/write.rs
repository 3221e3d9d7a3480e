use std::{
    fs::{self, DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
    sync::{Arc, MutexGuard},
    thread::sleep,
};

use bytes::{Buf, Bytes};
use nix::errno::Errno;

use super::{
    Spool, SpoolStatus,
    event::{StoredEvent, events_within},
    index::MEMORY,
    segment::Segment,
    tail::TailChunk,
    writer::Writer,
};
use crate::descriptors::{DESCRIPTOR_PAUSE, lacks_descriptor};

/// Several events that readers are told of together, when it is dropped.
pub(crate) struct Batch<'spool> {
    spool: &'spool Spool,
    writer: MutexGuard<'spool, Writer>,
}

/// Events that are written at once.
struct Run {
    /// Where to; `None` for a new one.
    segment: Option<Arc<Segment>>,
    /// The number of the first one.
    first: u64,
    events: Vec<StoredEvent>,
    /// How many bytes they take.
    len: usize,
}

impl Spool {
    /// Begins to write. It may block.
    pub(in crate::output) fn batch(&self) -> Batch<'_> {
        Batch { spool: self, writer: self.writer() }
    }
}

impl Batch<'_> {
    /// The number of the next event.
    pub(in crate::output) fn next_sequence(&self) -> u64 {
        self.spool.state().sequence + 1
    }

    /// Writes whole events, which are numbered on from the last one. What can't be written to disk
    /// is kept in memory. Where the process has no descriptor left it waits for one, as if the disk
    /// were slow.
    pub(in crate::output) fn append(&mut self, frames: &Bytes) {
        let mut rest = frames.clone();
        let mut most = usize::MAX;
        while !self.spool.state().closed {
            let Some(run) = self.next_run(&rest, most) else {
                return;
            };
            match self.write(&run, &rest.slice(..run.len)) {
                Ok(()) => rest.advance(run.len),
                Err(error) if lacks_descriptor(&error) => {
                    // What was written before is not to wait.
                    self.notify_readers();
                    sleep(DESCRIPTOR_PAUSE);
                }
                // What is new is worth more than what is old.
                Err(error) if lacks_space(&error) && self.drop_oldest_file() => {}
                // There may be room for some of them.
                Err(_) if run.events.len() > 1 => most = 1,
                Err(error) => {
                    self.keep_in_memory(&run, &rest.slice(..run.len), &error);
                    rest.advance(run.len);
                }
            }
        }
    }

    /// The next events that go to the same segment.
    fn next_run(&self, frames: &[u8], most: usize) -> Option<Run> {
        let first = StoredEvent::first(frames)?;
        let found = self.spool.state().index.segment_for(first.sequence, first.len as u64);
        let room = found.as_ref().map_or(self.spool.limit.segment(), |(_, room)| *room);
        let events = events_within(frames, room, most);
        let len = events.iter().map(|event| event.len).sum();
        Some(Run { segment: found.map(|(segment, _)| segment), first: first.sequence, events, len })
    }

    fn write(&mut self, run: &Run, bytes: &Bytes) -> io::Result<()> {
        let segment = match &run.segment {
            Some(segment) => Arc::clone(segment),
            None => self.begin_segment(run.first)?,
        };
        let Some(path) = segment.path() else {
            self.write_to_memory(&segment, run, bytes);
            return Ok(());
        };
        loop {
            let dropped = self.spool.state().index.drop_for(run.len as u64);
            match dropped {
                Some(oldest) => unlink(&oldest),
                None => break,
            }
        }
        let file = match &mut self.writer.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().write(true).open(path)?),
        };
        // At its place, so that what a failed write left behind is written over.
        file.write_all_at(bytes, segment.len())?;
        self.wrote(&segment, run, bytes);
        Ok(())
    }

    fn write_to_memory(&self, segment: &Segment, run: &Run, bytes: &Bytes) {
        if let Some(mut memory) = segment.memory() {
            memory.extend_from_slice(bytes);
        }
        self.wrote(segment, run, bytes);
        self.spool.state().index.trim_memory();
    }

    /// Lets readers have events that are in a segment now.
    fn wrote(&self, segment: &Segment, run: &Run, bytes: &Bytes) {
        let position = segment.end();
        let chunk = run
            .events
            .last()
            .filter(|_| self.spool.is_read())
            .map(|last| TailChunk::of(bytes, last.sequence));
        let mut state = self.spool.state();
        match chunk {
            Some(chunk) => state.tail.push(position, chunk),
            None => state.tail.clear(),
        }
        for event in &run.events {
            let end = segment.end() + event.len as u64;
            state.index.wrote(segment, event.sequence, end);
            state.sequence = event.sequence;
        }
    }

    /// Keeps events in memory that can't be written to disk.
    fn keep_in_memory(&mut self, run: &Run, bytes: &Bytes, error: &io::Error) {
        // Once: the log may be on the same disk.
        if self.spool.failure().is_none() {
            let failure = failure_of(error);
            tracing::warn!(
                directory = %self.spool.directory.display(),
                "{failure}: the command's output stays in memory, the last {} KiB of it",
                MEMORY / 1024
            );
            self.spool.state().failure = Some(failure);
        }
        let (segment, empty) = self.spool.state().index.add_segment_in_memory(run.first);
        self.writer.file = None;
        if let Some(empty) = empty {
            unlink(&empty);
        }
        self.write_to_memory(&segment, run, bytes);
    }

    fn begin_segment(&mut self, sequence: u64) -> io::Result<Arc<Segment>> {
        let directory: &Path = &self.spool.directory;
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(self.spool.state().index.next_name());
        // The last one has had all: its descriptor is free for this one.
        self.writer.file = None;
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        self.writer.file = Some(file);
        Ok(self.spool.state().index.add_segment(path, sequence))
    }

    /// Drops the oldest segment, where that makes room on the disk; returns whether it did.
    fn drop_oldest_file(&self) -> bool {
        let dropped = self.spool.state().index.drop_oldest_file();
        dropped.inspect(|oldest| unlink(oldest)).is_some()
    }

    fn notify_readers(&self) {
        let end = self.spool.state().index.end();
        self.spool.progress.send_if_modified(|progress| {
            let has_grown = progress.end != end && matches!(progress.status, SpoolStatus::Open);
            progress.end = end;
            has_grown
        });
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.notify_readers();
    }
}

/// Whether the disk, or what the user may have of it, is full.
fn lacks_space(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::ENOSPC | Errno::EDQUOT))
}

/// Says why output can't be written to disk.
fn failure_of(error: &io::Error) -> String {
    let what = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOSPC) => "the agent's disk is full",
        Some(Errno::EDQUOT) => "the agent's disk quota is used up",
        Some(Errno::EFBIG) => "the agent's files may not be so large (ulimit -f)",
        _ => "the agent can't write to its disk",
    };
    format!("{what}: {error}")
}

fn unlink(segment: &Segment) {
    if let Some(path) = segment.path()
        && let Err(error) = fs::remove_file(path)
    {
        tracing::warn!(%error, path = %path.display(), "can't remove a spool segment");
    }
}
