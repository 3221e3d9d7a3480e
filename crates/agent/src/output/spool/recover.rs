use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use sandpipe_protocol::ExecStdout;

use super::{Index, LastEvent, Progress, Spool, SpoolLimit, SpoolStatus, event};

/// The most bytes that are read of a segment at once.
const CHUNK: usize = 256 * 1024;

/// The numbers that events can have: there is always a next one.
const NUMBERS: Range<u64> = 1..u64::MAX;

impl Spool {
    /// The spool that an earlier agent left in `directory`; `last` is the event that ends it, if there
    /// was one. Nothing more is written to it. It has to be [loaded](Self::load) before it is read.
    pub(crate) fn left(directory: PathBuf, limit: SpoolLimit, last: Option<&ExecStdout>) -> Self {
        let (sequence, status) = match last {
            Some(last) => {
                (last.sequence.saturating_sub(1), SpoolStatus::Finished(LastEvent::new(last)))
            }
            None => (0, SpoolStatus::Interrupted),
        };
        let spool = Self::with(directory, limit, Progress { end: 0, status });
        spool.unread.store(true, Ordering::Release);
        let mut state = spool.state();
        state.closed = true;
        state.sequence = sequence;
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
        for path in segments(&self.directory)? {
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

/// The segment files, oldest first.
fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbered = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".sse")?.parse::<u64>().ok());
        numbered.extend(number.map(|number| (number, path)));
    }
    numbered.sort_unstable();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

/// Adds a segment, and returns the number of its last event. An event that was only half written when
/// the agent died is no part of it.
///
/// Only its first event is read: no number is missing within a segment.
pub(super) fn recover_segment(
    index: &mut Index,
    path: PathBuf,
    mut file: impl BufRead,
) -> io::Result<Option<u64>> {
    let Some(first_frame) = read_frame(&mut file)? else {
        return Ok(None);
    };
    let Some(first) = event::sequence_of(&first_frame).filter(|first| NUMBERS.contains(first))
    else {
        let message = format!("{} does not begin with an event", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    };
    let segment = index.add_segment(path, first);
    let mut sequence = first;
    let mut len = first_frame.len() as u64;
    index.wrote(&segment, sequence, segment.start + len);
    while let Some(next) = skip_frame(&mut file)? {
        sequence += 1;
        if !NUMBERS.contains(&sequence) {
            let message = format!("the numbers of {} are too large", segment.path().display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        len += next;
        index.wrote(&segment, sequence, segment.start + len);
    }
    Ok(Some(sequence))
}

/// Reads a whole event: a line and an empty one. `None` where there is none.
fn read_frame(file: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut frame = Vec::new();
    file.read_until(b'\n', &mut frame)?;
    file.read_until(b'\n', &mut frame)?;
    Ok(frame.ends_with(b"\n\n").then_some(frame))
}

/// Passes over a whole event and returns its length.
fn skip_frame(file: &mut impl BufRead) -> io::Result<Option<u64>> {
    let line = file.skip_until(b'\n')?;
    let mut end = Vec::new();
    file.read_until(b'\n', &mut end)?;
    Ok((end == b"\n").then_some((line + end.len()) as u64))
}

#[cfg(test)]
mod tests {
    use sandpipe_protocol::OutputType;

    use super::*;

    fn frame(sequence: u64) -> Vec<u8> {
        let mut frame = Vec::new();
        event::encode_output(&mut frame, OutputType::Stdout, "some \n output", sequence);
        frame
    }

    #[test]
    fn numbers_that_no_event_has_are_refused() {
        let limit = SpoolLimit::new(SpoolLimit::MIN).unwrap();
        for (first, is_read) in [(0, false), (1, true), (u64::MAX - 2, true), (u64::MAX - 1, false)]
        {
            let bytes = [frame(first), frame(first + 1)].concat();
            let recovered = recover_segment(&mut Index::new(limit), PathBuf::new(), &bytes[..]);
            assert_eq!(recovered.is_ok(), is_read, "{first}");
        }
    }

    #[test]
    fn a_half_written_event_is_cut_off_wherever_it_was_cut() {
        let directory = tempfile::tempdir().unwrap();
        let limit = SpoolLimit::new(SpoolLimit::MIN).unwrap();
        fs::write(directory.path().join("0007.sse"), [frame(5), frame(6)].concat()).unwrap();
        let whole = frame(7);
        for cut in 0..whole.len() {
            let bytes = [frame(7).as_slice(), whole.get(..cut).unwrap()].concat();
            fs::write(directory.path().join("0012.sse"), bytes).unwrap();
            let spool = Spool::left(directory.path().into(), limit, None);
            spool.load().unwrap();
            let state = spool.state();
            assert_eq!(state.sequence, 7);
            assert_eq!(state.index.end(), 3 * whole.len() as u64);
            assert_eq!(state.index.first_gap(0, 7).unwrap().to, 4);
        }
        fs::write(directory.path().join("0012.sse"), "data: nonsense\n\n").unwrap();
        let spool = Spool::left(directory.path().into(), limit, None);
        assert!(spool.load().is_err());
        assert!(!spool.is_loaded());
    }
}
