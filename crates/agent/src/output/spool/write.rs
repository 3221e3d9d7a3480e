use std::{
    fs::{self, DirBuilder, OpenOptions},
    io, mem,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
    sync::{Arc, MutexGuard},
    thread::sleep,
};

use nix::errno::Errno;
use sandpipe_protocol::OutputType;

use super::{Spool, SpoolStatus, event, segment::Segment, writer::Writer};
use crate::descriptors::{DESCRIPTOR_PAUSE, lacks_descriptor};

/// Several events that readers are told of together, when it is dropped.
pub(crate) struct Batch<'spool> {
    spool: &'spool Spool,
    writer: MutexGuard<'spool, Writer>,
}

impl Spool {
    /// Begins to write. It may block.
    pub(in crate::output) fn batch(&self) -> Batch<'_> {
        Batch { spool: self, writer: self.writer() }
    }
}

impl Batch<'_> {
    /// Writes an event. Where the process has no descriptor left it waits for one, as if the disk were
    /// slow.
    pub(in crate::output) fn append(&mut self, kind: OutputType, text: &str) {
        let sequence = self.spool.state().sequence + 1;
        self.writer.frame.clear();
        event::encode_output(&mut self.writer.frame, kind, text, sequence);
        while !self.spool.state().closed {
            let Err(error) = self.write(sequence) else {
                return;
            };
            if lacks_descriptor(&error) {
                // What was written before is not to wait.
                self.notify_readers();
                sleep(DESCRIPTOR_PAUSE);
                continue;
            }
            // What is new is worth more than what is old.
            if lacks_space(&error) && self.drop_oldest() {
                continue;
            }
            // Once: the log may be on the same disk.
            if !mem::replace(&mut self.writer.has_logged_loss, true) {
                tracing::warn!(
                    %error,
                    directory = %self.spool.directory.display(),
                    sequence,
                    "an event could not be written and is lost, as others of this exec may be from now on"
                );
            }
            self.spool.state().sequence = sequence;
            return;
        }
    }

    fn write(&mut self, sequence: u64) -> io::Result<()> {
        let len = self.writer.frame.len() as u64;
        let found = self.spool.state().index.segment_for(sequence, len);
        let segment = match found {
            Some(segment) => segment,
            None => self.begin_segment(sequence)?,
        };
        loop {
            let dropped = self.spool.state().index.drop_for(len);
            match dropped {
                Some(oldest) => unlink(&oldest),
                None => break,
            }
        }
        let Writer { file, frame, .. } = &mut *self.writer;
        let file = match file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().write(true).open(segment.path())?),
        };
        // At its place, so that what a failed write left behind is written over.
        file.write_all_at(frame, segment.end() - segment.start)?;
        let end = segment.end() + len;
        let mut state = self.spool.state();
        state.index.wrote(&segment, sequence, end);
        state.sequence = sequence;
        Ok(())
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

    /// Drops the oldest segment; returns whether there was one to drop.
    fn drop_oldest(&self) -> bool {
        let dropped = self.spool.state().index.drop_oldest();
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

fn unlink(segment: &Segment) {
    if let Err(error) = fs::remove_file(segment.path()) {
        tracing::warn!(%error, path = %segment.path().display(), "can't remove a spool segment");
    }
}
