//! One exec's output on disk: its events, already encoded as they go to the readers, in segment
//! files of which the oldest is dropped when there are too many.

mod event;
mod index;
mod limit;
mod recover;
mod segment;
mod write;

use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sandpipe_protocol::{ExecStdout, Gap, OutputType};
use tokio::sync::watch;

use self::{index::Index, write::Writer};

pub(super) use event::{sequence_of, split_frame, strip_frame};
pub(super) use segment::Segment;

pub use limit::SpoolLimit;

/// One exec's spool.
///
/// A position in it is the number of bytes before it, counted from the exec's start and over what has
/// been dropped.
#[derive(Debug)]
pub(crate) struct Spool {
    directory: PathBuf,
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
}

#[derive(Debug)]
struct State {
    index: Index,
    writer: Writer,
}

/// How far a spool has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The position behind the last event on disk.
    pub(super) end: u64,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug, Default)]
pub(super) enum Outcome {
    /// More may come.
    #[default]
    Open,
    /// The process has ended.
    Finished(LastEvent),
    /// The agent died before the process had ended: there is an end, and no exit code.
    Interrupted,
    /// No reader gets anything any more.
    Closed,
}

/// The event with the exit code. It stays in memory: it is there even where the disk is full.
#[derive(Clone, Debug)]
pub(super) struct LastEvent {
    pub(super) sequence: u64,
    pub(super) frame: Arc<[u8]>,
}

impl LastEvent {
    fn new(event: &ExecStdout) -> Self {
        let mut frame = Vec::new();
        event::encode(&mut frame, event);
        Self { sequence: event.sequence, frame: frame.into() }
    }
}

/// Where a reader that knows the events up to a certain one begins.
#[derive(Debug)]
pub(super) struct Start {
    /// The last event that the reader is not to get.
    pub(super) after: u64,
    /// A position before the first event that it is to get, or at it.
    pub(super) position: u64,
}

/// A segment that was opened, and the position to read at.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) segment: Arc<Segment>,
    pub(super) file: File,
    pub(super) position: u64,
}

impl Spool {
    /// A spool that makes `directory` when the first output comes.
    pub(crate) fn new(directory: PathBuf, limit: SpoolLimit) -> Self {
        Self::with(directory, Index::new(limit), Writer::new(), Progress::default())
    }

    fn with(directory: PathBuf, index: Index, writer: Writer, progress: Progress) -> Self {
        Self {
            directory,
            state: Mutex::new(State { index, writer }),
            progress: watch::Sender::new(progress),
        }
    }

    /// Takes no more output, and gives the event with the exit code that is to end it.
    pub(crate) fn seal(&self, exit_code: i32) -> ExecStdout {
        let mut state = self.state();
        state.writer.close();
        event::make(OutputType::Stdout, "", state.writer.sequence() + 1, Some(exit_code))
    }

    /// Ends the output with that event; readers end after it.
    pub(crate) fn finish(&self, last: &ExecStdout) {
        let last = LastEvent::new(last);
        self.progress.send_if_modified(|progress| {
            let open = matches!(progress.outcome, Outcome::Open);
            if open {
                progress.outcome = Outcome::Finished(last);
            }
            open
        });
    }

    /// Ends every reader now. What is written from now on is dropped.
    pub(crate) fn close(&self) {
        self.state().writer.close();
        self.progress.send_modify(|progress| progress.outcome = Outcome::Closed);
    }

    /// Ends the readers of a process that has not ended.
    pub(crate) fn close_if_open(&self) {
        if matches!(self.progress.borrow().outcome, Outcome::Open) {
            self.close();
        }
    }

    /// Where a reader begins that asks for `lastSequence`: the events after that one, or with a
    /// negative number the last so many of those that exist now.
    pub(super) fn locate(&self, last_sequence: i64) -> Start {
        let state = self.state();
        let after = self.after(&state, last_sequence);
        Start { after, position: state.index.position_before(after.saturating_add(1)) }
    }

    /// The first events that a reader would miss that asks for `lastSequence` and reads what exists
    /// now.
    pub(in crate::output) fn first_gap(&self, last_sequence: i64) -> Option<Gap> {
        let state = self.state();
        state.index.first_gap(self.after(&state, last_sequence), state.writer.sequence())
    }

    /// The last event that is not asked for.
    fn after(&self, state: &State, last_sequence: i64) -> u64 {
        u64::try_from(last_sequence).unwrap_or_else(|_| {
            let count = last_sequence.unsigned_abs();
            let after = self.last_sequence(state).saturating_sub(count);
            // What was dropped is not among those that exist now.
            let oldest = state.index.oldest().unwrap_or_else(|| state.writer.sequence() + 1);
            after.max(oldest - 1)
        })
    }

    /// Opens the segment that holds a position, or the oldest one where that has been dropped; `None`
    /// where there is nothing at that position.
    pub(super) fn open_at(&self, position: u64) -> io::Result<Option<Opened>> {
        let find = || self.state().index.segment_at(position);
        let mut found = find();
        while let Some((segment, position)) = found {
            let error = match segment.open() {
                Ok(file) => return Ok(Some(Opened { segment, file, position })),
                Err(error) => error,
            };
            found = find();
            // One that was dropped meanwhile is no error; one that is still kept should be there.
            if found.as_ref().is_some_and(|(kept, _)| Arc::ptr_eq(kept, &segment)) {
                return Err(error);
            }
        }
        Ok(None)
    }

    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The number of the last event that exists.
    fn last_sequence(&self, state: &State) -> u64 {
        match &self.progress.borrow().outcome {
            Outcome::Finished(last) => last.sequence,
            Outcome::Open | Outcome::Interrupted | Outcome::Closed => state.writer.sequence(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
