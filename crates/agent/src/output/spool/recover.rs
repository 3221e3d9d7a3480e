use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use sandpipe_protocol::ExecStdout;

use super::{
    Index, LastEvent, Progress, Spool, SpoolLimit, SpoolStatus,
    convert::{OLD_EXTENSION, convert_segment},
    event::StoredEvent,
    index::EXTENSION,
};

/// The most bytes that are read of a segment at once.
const CHUNK: usize = 256 * 1024;

/// The numbers that events can have: there is always a next one.
const NUMBERS: Range<u64> = 1..u64::MAX;

impl Spool {
    /// The spool that an earlier agent left in `directory`; `last` is the event that ends it, if
    /// there was one, and `failure` why some of it could not be written to disk. Nothing more is
    /// written to it. It has to be [loaded](Self::load) before it is read.
    pub(crate) fn left(
        directory: PathBuf,
        limit: SpoolLimit,
        last: Option<&ExecStdout>,
        failure: Option<String>,
    ) -> Self {
        let (sequence, status) = match last.and_then(LastEvent::new) {
            Some(last) => (last.sequence.saturating_sub(1), SpoolStatus::Finished(last)),
            None => (0, SpoolStatus::Interrupted),
        };
        let spool = Self::with(directory, limit, Progress { end: 0, status });
        spool.unread.store(true, Ordering::Release);
        let mut state = spool.state();
        state.closed = true;
        state.sequence = sequence;
        state.failure = failure;
        drop(state);
        spool
    }

    /// Whether it can be read.
    pub(crate) fn is_loaded(&self) -> bool {
        !self.unread.load(Ordering::Acquire)
    }

    /// Looks through what an earlier agent left, unless that has been done. It may block.
    ///
    /// # Errors
    /// When a segment can't be read, or holds something else.
    pub(crate) fn load(&self) -> io::Result<()> {
        // One does it for all that come meanwhile.
        let _writer = self.writer();
        if self.is_loaded() {
            return Ok(());
        }
        let mut index = Index::new(self.limit);
        let mut sequence = 0;
        for path in segments(&self.directory, OLD_EXTENSION)? {
            convert_segment(&path)?;
        }
        for path in segments(&self.directory, EXTENSION)? {
            let file = BufReader::with_capacity(CHUNK, File::open(&path)?);
            if let Some(last) = recover_segment(&mut index, path, file)? {
                sequence = last;
            }
        }
        self.set_loaded(index, sequence);
        Ok(())
    }

    /// These are its segments; `sequence` is the number of the last event in them.
    pub(super) fn set_loaded(&self, index: Index, sequence: u64) {
        let end = index.end();
        let mut state = self.state();
        state.index = index;
        // Where its end is known, so is the number of the event before that.
        if matches!(self.progress.borrow().status, SpoolStatus::Interrupted) {
            state.sequence = sequence;
        }
        drop(state);
        self.progress.send_modify(|progress| progress.end = end);
        self.unread.store(false, Ordering::Release);
    }
}

/// The segment files whose names end so, oldest first.
fn segments(directory: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut numbered = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        let number = number.filter(|_| path.extension().is_some_and(|found| found == extension));
        numbered.extend(number.map(|number| (number, path)));
    }
    numbered.sort_unstable();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

/// What a segment goes on with.
enum NextEvent {
    Event(StoredEvent),
    /// Nothing, or half of one.
    End,
    Other,
}

/// Adds a segment, and returns the number of its last event. An event that was only half written when
/// the agent died is no part of it, nor is anything behind it.
pub(super) fn recover_segment(
    index: &mut Index,
    path: PathBuf,
    mut file: impl BufRead,
) -> io::Result<Option<u64>> {
    let mut bytes = Vec::new();
    let mut next = || match StoredEvent::read(&mut file, &mut bytes) {
        Ok(Some(event)) => Ok(NextEvent::Event(event)),
        Ok(None) => Ok(NextEvent::End),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(NextEvent::Other),
        Err(error) => Err(error),
    };
    let first = match next()? {
        NextEvent::Event(first) if NUMBERS.contains(&first.sequence) => first,
        NextEvent::End => return Ok(None),
        NextEvent::Event(_) | NextEvent::Other => {
            let message = format!("{} does not begin with an event", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
    };
    let segment = index.add_segment(path, first.sequence);
    let mut last = first;
    index.wrote(&segment, first.sequence, segment.start + first.len as u64);
    while let NextEvent::Event(event) = next()?
        && event.sequence == last.sequence + 1
        && NUMBERS.contains(&event.sequence)
    {
        last = event;
        index.wrote(&segment, last.sequence, segment.end() + last.len as u64);
    }
    Ok(Some(last.sequence))
}

#[cfg(test)]
mod tests {
    use sandpipe_protocol::{
        OutputType,
        frame::{Frame, Payload},
    };

    use super::*;

    fn frame(sequence: u64) -> Vec<u8> {
        let mut frame = Vec::new();
        let payload = Payload::Unfinished(OutputType::Stdout, b"\xE2\x82");
        Frame { sequence, time: 0, payload }.write(&mut frame);
        let payload = Payload::Output(OutputType::Stdout, b"\xAC output");
        Frame { sequence, time: 0, payload }.write(&mut frame);
        frame
    }

    #[test]
    fn numbers_that_no_event_has_are_refused() {
        let limit = SpoolLimit::new(SpoolLimit::MIN).unwrap();
        for (first, is_read) in [(0, false), (1, true), (u64::MAX - 1, true), (u64::MAX, false)] {
            let bytes = [frame(first), frame(first.wrapping_add(1))].concat();
            let recovered = recover_segment(&mut Index::new(limit), PathBuf::new(), &bytes[..]);
            assert_eq!(recovered.is_ok(), is_read, "{first}");
            let last = if first == 1 { 2 } else { first };
            assert_eq!(recovered.ok(), is_read.then_some(Some(last)));
        }
    }

    #[test]
    fn a_half_written_event_is_cut_off_wherever_it_was_cut() {
        let directory = tempfile::tempdir().unwrap();
        let limit = SpoolLimit::new(SpoolLimit::MIN).unwrap();
        fs::write(directory.path().join("0007.frames"), [frame(5), frame(6)].concat()).unwrap();
        let whole = frame(7);
        let check = |rest: &[u8]| {
            let bytes = [&whole[..], rest].concat();
            fs::write(directory.path().join("0012.frames"), bytes).unwrap();
            let spool = Spool::left(directory.path().into(), limit, None, None);
            spool.load().unwrap();
            let state = spool.state();
            assert_eq!(state.sequence, 7);
            assert_eq!(state.index.end(), 3 * whole.len() as u64);
            assert_eq!(state.index.first_gap(0, 7).unwrap().to, 4);
        };
        for cut in 0..whole.len() {
            check(&frame(8)[..cut]);
        }
        // What a write that failed, or a file system that died, leaves.
        check(&[0; 100]);
        check(&frame(9));
        check(&[0xFF; 100]);
        fs::write(directory.path().join("0012.frames"), "nothing that could be an event").unwrap();
        let spool = Spool::left(directory.path().into(), limit, None, None);
        assert!(spool.load().is_err());
        assert!(!spool.is_loaded());
    }
}
