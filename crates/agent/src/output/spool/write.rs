use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::Path,
    sync::{Arc, MutexGuard},
};

use sandpipe_protocol::OutputType;

use super::{Outcome, Spool, State, event, index::Index, segment::Segment};

/// Numbers events and writes them to the newest segment.
#[derive(Debug)]
pub(super) struct Writer {
    /// The number of the last event. A number is used up also where its event could not be written:
    /// the readers see by the gap that something is missing.
    sequence: u64,
    file: Option<File>,
    /// No more is written.
    closed: bool,
    /// The encoded event, kept for its memory.
    frame: Vec<u8>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { sequence: 0, file: None, closed: false, frame: Vec::new() }
    }

    /// One that writes nothing more after the event of that number.
    pub(super) fn closed_after(sequence: u64) -> Self {
        Self { sequence, closed: true, ..Self::new() }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Gives back the file and the memory.
    pub(super) fn close(&mut self) {
        self.file = None;
        self.frame = Vec::new();
        self.closed = true;
    }

    fn append(&mut self, index: &mut Index, directory: &Path, kind: OutputType, text: &str) {
        if self.closed {
            return;
        }
        self.sequence += 1;
        self.frame.clear();
        event::encode(&mut self.frame, &event::make(kind, text, self.sequence, None));
        loop {
            let Err(error) = self.write(index, directory) else {
                return;
            };
            let full =
                matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            // What is new is worth more than what is old.
            if full && let Some(oldest) = index.drop_oldest() {
                unlink(&oldest);
                continue;
            }
            tracing::warn!(
                %error,
                directory = %directory.display(),
                sequence = self.sequence,
                "an event could not be written and is lost"
            );
            return;
        }
    }

    fn write(&mut self, index: &mut Index, directory: &Path) -> io::Result<()> {
        let len = self.frame.len() as u64;
        let segment = match index.segment_for(self.sequence, len) {
            Some(segment) => segment,
            None => self.begin_segment(index, directory)?,
        };
        while let Some(oldest) = index.drop_for(len) {
            unlink(&oldest);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().write(true).open(segment.path())?),
        };
        // At its place, so that what a failed write left behind is written over.
        file.write_all_at(&self.frame, segment.end() - segment.start)?;
        let end = segment.end() + len;
        index.wrote(&segment, self.sequence, end);
        Ok(())
    }

    fn begin_segment(&mut self, index: &mut Index, directory: &Path) -> io::Result<Arc<Segment>> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = directory.join(index.next_name());
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        self.file = Some(file);
        Ok(index.add_segment(path, self.sequence))
    }
}

fn unlink(segment: &Segment) {
    if let Err(error) = fs::remove_file(segment.path()) {
        tracing::warn!(%error, path = %segment.path().display(), "can't remove a spool segment");
    }
}

/// Several events that readers are told of together, when it is dropped.
pub(crate) struct Batch<'spool> {
    spool: &'spool Spool,
    state: MutexGuard<'spool, State>,
}

impl Spool {
    /// Begins to write.
    pub(in crate::output) fn batch(&self) -> Batch<'_> {
        Batch { spool: self, state: self.state() }
    }
}

impl Batch<'_> {
    /// Writes an event.
    pub(in crate::output) fn append(&mut self, kind: OutputType, text: &str) {
        let State { index, writer } = &mut *self.state;
        writer.append(index, &self.spool.directory, kind, text);
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let end = self.state.index.end();
        self.spool.progress.send_if_modified(|progress| {
            let news = progress.end != end && matches!(progress.outcome, Outcome::Open);
            progress.end = end;
            news
        });
    }
}
