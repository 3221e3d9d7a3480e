use std::{fs::File, io, sync::Arc};

use bytes::{Buf, Bytes};
use sandpipe_protocol::{Gap, frame::split_frame};
use tokio::{sync::watch, time::sleep};

use super::{
    blocks::Blocks,
    spool::{Progress, Segment, Spool, SpoolStatus, TailChunk},
};
use crate::{
    blocking,
    descriptors::{DESCRIPTOR_PAUSE, lacks_descriptor},
};

/// The most bytes of a segment that are read at once.
const CHUNK: usize = 256 * 1024;

/// Which events a reader gets: those after the one of this number; with a negative number -N, the
/// last N of those that exist when it begins, and what follows. 0 gives all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StartAfter(pub(crate) i64);

impl StartAfter {
    /// The first events that a reader from here on would miss of those that exist now.
    pub(crate) fn first_gap(self, spool: &Spool) -> Option<Gap> {
        spool.first_gap(self.0)
    }
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReaderItem {
    /// Whole frames.
    Bytes(Bytes),
    /// Events that the reader wants and that are not there any more. They lie between two whole ones.
    Gap(Gap),
}

/// Reads a spool from some event on, at its own pace. It holds one open file at most, and nothing
/// that slows the process or another reader.
///
/// Where it keeps up with the process it is given what is still in memory, and takes no file at all.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(super) spool: Arc<Spool>,
    progress: watch::Receiver<Progress>,
    position: u64,
    /// Where it ends although more may come.
    until: Option<u64>,
    /// Whether an end before the last event that it is to give is an error.
    snapshot: bool,
    segment: Option<OpenSegment>,
    blocks: Blocks,
    /// The same for what is made of what was read.
    pub(super) written: Blocks,
    /// The last event that is not wanted.
    after: u64,
    /// The number that the next segment begins with, unless events are missing.
    next_sequence: u64,
    done: bool,
    has_exit_code: bool,
}

#[derive(Clone, Debug)]
struct OpenSegment {
    segment: Arc<Segment>,
    /// `None` as long as all came from memory. What has been dropped can be read on with it.
    file: Option<Arc<File>>,
}

impl Reader {
    /// Follows the output until it ends.
    pub(crate) fn follow(spool: &Arc<Spool>, start: StartAfter) -> Self {
        let progress = spool.watch();
        let start = spool.locate(start.0);
        Self {
            spool: Arc::clone(spool),
            progress,
            position: start.position,
            until: None,
            snapshot: false,
            segment: None,
            blocks: Blocks::default(),
            written: Blocks::default(),
            after: start.after,
            next_sequence: start.after.saturating_add(1),
            done: false,
            has_exit_code: false,
        }
    }

    /// Reads what exists now.
    pub(crate) fn snapshot(spool: &Arc<Spool>, start: StartAfter) -> Self {
        let mut reader = Self::follow(spool, start);
        reader.snapshot = true;
        let progress = reader.progress.borrow_and_update().clone();
        if matches!(progress.status, SpoolStatus::Open) {
            reader.until = Some(progress.end);
        }
        reader
    }

    /// Reads the next item. `None` after the last event, or when there is to be no more: a stream shows
    /// by the missing exit code that it is not whole, and a snapshot, which has no such mark, gives an
    /// error. Nothing is lost when the future is dropped before it is done.
    pub(crate) async fn next(&mut self) -> io::Result<Option<ReaderItem>> {
        while !self.done {
            let progress = self.progress.borrow_and_update().clone();
            if matches!(progress.status, SpoolStatus::Closed) {
                if self.snapshot {
                    return Err(io::Error::other("the output was removed while it was read"));
                }
                break;
            }
            let until = self.until.unwrap_or(progress.end);
            if self.position < until {
                match self.read(until).await? {
                    Some(ReaderItem::Bytes(bytes)) => {
                        let wanted = self.wanted(bytes)?;
                        if !wanted.is_empty() {
                            return Ok(Some(ReaderItem::Bytes(wanted)));
                        }
                    }
                    gap @ Some(_) => return Ok(gap),
                    None => {}
                }
            } else if let SpoolStatus::Finished(last) = progress.status {
                self.leave_segment();
                if self.until.is_none()
                    && let Some(gap) = self.gap_before(last.sequence)
                {
                    return Ok(Some(ReaderItem::Gap(gap)));
                }
                self.done = true;
                if last.sequence > self.after && self.until.is_none() {
                    self.has_exit_code = true;
                    return Ok(Some(ReaderItem::Bytes(last.frame)));
                }
            } else if self.until.is_some() || matches!(progress.status, SpoolStatus::Interrupted) {
                break;
            } else {
                self.blocks.release();
                self.written.release();
                if self.progress.changed().await.is_err() {
                    break;
                }
            }
        }
        self.done = true;
        self.segment = None;
        Ok(None)
    }

    /// Whether it has given the event with the exit code.
    pub(crate) fn has_exit_code(&self) -> bool {
        self.has_exit_code
    }

    /// Reads from the segment at the position; `None` where all of it was dropped.
    async fn read(&mut self, until: u64) -> io::Result<Option<ReaderItem>> {
        loop {
            let open = match &self.segment {
                Some(open) if open.segment.end() > self.position => open.clone(),
                // The segment was read to its end, and there is more: so no more will come to it.
                _ => {
                    self.leave_segment();
                    let Some((segment, position)) = self.spool.segment_at(self.position) else {
                        // All of it has been dropped meanwhile.
                        self.position = until;
                        return Ok(None);
                    };
                    // A later position means that events were dropped before they were read; segments
                    // begin between events, so the reader goes on with a whole one.
                    self.position = position;
                    let open = self.segment.insert(OpenSegment { segment, file: None }).clone();
                    if let Some(gap) = self.gap_before(open.segment.first) {
                        return Ok(Some(ReaderItem::Gap(gap)));
                    }
                    open
                }
            };
            if let Some(bytes) = self.read_tail(until) {
                return Ok(Some(ReaderItem::Bytes(bytes)));
            }
            if let Some(bytes) = open.segment.read_memory(self.position, until) {
                self.position += bytes.len() as u64;
                return Ok(Some(ReaderItem::Bytes(bytes)));
            }
            let file = match open.file {
                Some(file) => Some(file),
                None => self.open(&open.segment).await?.map(Arc::new),
            };
            if let Some(file) = file {
                let segment = Arc::clone(&open.segment);
                self.segment = Some(OpenSegment { file: Some(Arc::clone(&file)), ..open });
                let bytes = self.read_file(segment, file, until).await?;
                return Ok(Some(ReaderItem::Bytes(bytes)));
            }
            // It was dropped before it was read on. What has been read of it was whole events.
            self.segment = None;
        }
    }

    fn read_tail(&mut self, until: u64) -> Option<Bytes> {
        let TailChunk { mut bytes, last } = self.spool.read_tail(self.position)?;
        let wanted = until - self.position;
        if wanted < bytes.len() as u64 {
            bytes.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        } else {
            self.next_sequence = self.next_sequence.max(last.saturating_add(1));
        }
        self.position += bytes.len() as u64;
        Some(bytes)
    }

    async fn read_file(
        &mut self,
        segment: Arc<Segment>,
        file: Arc<File>,
        until: u64,
    ) -> io::Result<Bytes> {
        let position = self.position;
        let available = segment.end().min(until).saturating_sub(position);
        // What is less than a block may be all for long: it takes no more memory than it has bytes.
        let is_block = available >= CHUNK as u64;
        let len = if is_block { CHUNK } else { usize::try_from(available).unwrap_or(CHUNK) };
        let mut bytes = if is_block { self.blocks.take(len) } else { vec![0; len] };
        // Most often it is in the system's memory, and another thread would take longer than the read.
        let mut found = segment.read_now(&file, position, &mut bytes);
        if found.is_none() {
            let read = move || segment.read(&file, position, &mut bytes).map(|len| (bytes, len));
            let (read, len) = blocking::run(read).await??;
            (bytes, found) = (read, Some(len));
        }
        let len = found.unwrap_or_default();
        self.position += len as u64;
        let bytes = if is_block { self.blocks.lend(bytes) } else { bytes.into() };
        Ok(bytes.slice(..len))
    }

    /// Opens a segment; `None` where it has been dropped. Where the agent has no descriptor left it waits for one.
    async fn open(&self, segment: &Arc<Segment>) -> io::Result<Option<File>> {
        loop {
            let (spool, position) = (Arc::clone(&self.spool), self.position);
            let segment = Arc::clone(segment);
            let opened = blocking::run(move || spool.open(&segment, position)).await?;
            if !opened.as_ref().is_err_and(lacks_descriptor) {
                return opened;
            }
            sleep(DESCRIPTOR_PAUSE).await;
        }
    }

    /// Lets go of the segment that was read to its end.
    fn leave_segment(&mut self) {
        if let Some(open) = self.segment.take() {
            self.next_sequence = self.next_sequence.max(open.segment.last().saturating_add(1));
        }
    }

    /// What is missing before the event of that number, which comes next. It is told once.
    fn gap_before(&mut self, sequence: u64) -> Option<Gap> {
        let gap = Gap { from: self.next_sequence, to: sequence.saturating_sub(1) };
        self.next_sequence = self.next_sequence.max(sequence);
        (gap.from <= gap.to).then_some(gap)
    }

    /// Takes off the events that the reader knows already.
    fn wanted(&self, mut bytes: Bytes) -> io::Result<Bytes> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        while let Some((frame, rest)) = split_frame(&bytes).map_err(invalid)?
            && frame.sequence <= self.after
        {
            bytes.advance(bytes.len() - rest.len());
        }
        Ok(bytes)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.spool.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use sandpipe_protocol::{
        OutputType,
        frame::{Frame, Payload, whole_frames_len},
    };

    use super::*;
    use crate::output::SpoolLimit;

    #[test]
    fn a_write_that_hangs_holds_up_no_reader_that_begins_and_no_end() {
        let limit = SpoolLimit::new(1 << 20).unwrap();
        let spool = Arc::new(Spool::new("/nowhere".into(), limit));
        // As a disk that does not answer holds it.
        let batch = spool.batch();
        let (done, wait) = mpsc::channel();
        let other = Arc::clone(&spool);
        thread::spawn(move || {
            drop(Reader::follow(&other, StartAfter(-1)));
            assert_eq!(StartAfter(0).first_gap(&other), None);
            other.close();
            done.send(()).unwrap();
        });
        wait.recv_timeout(Duration::from_mins(1)).expect("it waits for the write");
        drop(batch);
    }

    fn spool_in(directory: &tempfile::TempDir, limit: u64) -> Arc<Spool> {
        let limit = SpoolLimit::new(limit).unwrap();
        Arc::new(Spool::new(directory.path().join("spool"), limit))
    }

    /// Writes an event with so many bytes of output.
    fn write(spool: &Spool, sequence: u64, len: usize) -> Bytes {
        let mut frame = Vec::new();
        let payload = Payload::Output(OutputType::Stdout, &vec![b'x'; len]);
        Frame { sequence, time: 0, payload }.write(&mut frame);
        let frame = Bytes::from(frame);
        spool.batch().append(&frame);
        frame
    }

    #[tokio::test]
    async fn who_keeps_up_reads_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let spool = spool_in(&directory, 1 << 20);
        let mut reader = Reader::follow(&spool, StartAfter(0));
        let mut other = Reader::follow(&spool, StartAfter(1));
        for sequence in 1..4 {
            let frame = write(&spool, sequence, 65_536 / usize::try_from(sequence).unwrap());
            std::fs::remove_dir_all(directory.path().join("spool")).unwrap();
            std::fs::create_dir(directory.path().join("spool")).unwrap();
            assert_eq!(reader.next().await.unwrap(), Some(ReaderItem::Bytes(frame.clone())));
            if sequence > 1 {
                assert_eq!(other.next().await.unwrap(), Some(ReaderItem::Bytes(frame)));
            }
        }
    }

    #[tokio::test]
    async fn what_is_read_of_files_is_whole_frames() {
        let directory = tempfile::tempdir().unwrap();
        let spool = spool_in(&directory, 1 << 22);
        let frames: Vec<_> = (1..=50).map(|sequence| write(&spool, sequence, 30_000)).collect();
        let mut reader = Reader::follow(&spool, StartAfter(1));
        let mut rest = frames[1..].concat();
        while !rest.is_empty() {
            let Some(ReaderItem::Bytes(bytes)) = reader.next().await.unwrap() else { panic!() };
            assert_eq!(whole_frames_len(&bytes), Ok(bytes.len()));
            assert_eq!(rest.drain(..bytes.len()).collect::<Vec<_>>(), bytes);
        }
    }

    #[tokio::test]
    async fn what_was_dropped_before_its_file_was_opened_is_missing_from_the_next_event_on() {
        let directory = tempfile::tempdir().unwrap();
        let spool = spool_in(&directory, SpoolLimit::MIN);
        let mut reader = Reader::follow(&spool, StartAfter(0));
        for sequence in 1..3 {
            let frame = write(&spool, sequence, 10);
            assert_eq!(reader.next().await.unwrap(), Some(ReaderItem::Bytes(frame)));
        }
        // Of the same segment.
        write(&spool, 3, 10);
        spool.forget_tail();
        for sequence in 4..7 {
            write(&spool, sequence, 30_000);
        }
        let gap = Gap { from: 3, to: 4 };
        assert_eq!(reader.next().await.unwrap(), Some(ReaderItem::Gap(gap)));
    }

    #[tokio::test]
    async fn a_snapshot_that_is_cut_by_a_delete_does_not_look_whole() {
        let directory = tempfile::tempdir().unwrap();
        let spool = spool_in(&directory, 1 << 20);
        for sequence in 1..=10 {
            write(&spool, sequence, 30_000);
        }
        let mut snapshot = Reader::snapshot(&spool, StartAfter(0));
        let mut stream = Reader::follow(&spool, StartAfter(0));
        assert!(snapshot.next().await.unwrap().is_some());
        assert!(stream.next().await.unwrap().is_some());
        spool.close();
        assert!(snapshot.next().await.is_err());
        // A stream that ends without an exit code is not whole for anybody.
        assert!(stream.next().await.unwrap().is_none());
    }
}
