//! One exec's output on disk: its events, as the frames that are sent to readers, in segment files of which the oldest is dropped
//! when there are too many.
//!
//! Memory keeps what can't be written to disk, as much as a few segments hold.
//!
//! `write.rs` appends, `recover.rs` finds out what an earlier agent has left, and `convert.rs` makes frames of what one has left that
//! kept its output as Server-Sent Events. An `Index` in memory knows the segments and the positions of
//! some events in each, and decides when a segment is full and which one goes; it does no I/O. A watch channel has the
//! [`Progress`], by which readers wait for more.

mod convert;
mod event;
#[cfg(feature = "fuzz")]
pub(super) mod fuzz;
mod index;
mod limit;
mod recover;
mod segment;
mod tail;
mod write;
mod writer;

use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

use bytes::Bytes;
use sandpipe_protocol::{ExecStdout, Gap};
use tokio::sync::watch;

use self::{index::Index, tail::Tail, writer::Writer};

pub(super) use segment::Segment;
pub(super) use tail::TailChunk;

pub use limit::SpoolLimit;

/// One exec's spool.
///
/// A position in it is the number of bytes before it, counted from the exec's start and over what has
/// been dropped.
#[derive(Debug)]
pub(crate) struct Spool {
    directory: PathBuf,
    limit: SpoolLimit,
    /// An earlier agent left it, and it has not been looked through yet.
    unread: AtomicBool,
    /// Held only for a moment: readers look into it on threads that must not block.
    state: Mutex<State>,
    /// Held while something is written. Who holds it may take `state`, never the other way round.
    writer: Mutex<Writer>,
    progress: watch::Sender<Progress>,
}

#[derive(Debug)]
struct State {
    index: Index,
    tail: Tail,
    /// The number of the last event.
    sequence: u64,
    /// Reason why some of the output could not be written to disk.
    failure: Option<String>,
    /// No more is written.
    closed: bool,
}

/// How far a spool has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The position behind the last event that is kept.
    pub(super) end: u64,
    pub(super) status: SpoolStatus,
}

#[derive(Clone, Debug, Default)]
pub(super) enum SpoolStatus {
    /// More may come.
    #[default]
    Open,
    /// The process has ended.
    Finished(LastEvent),
    /// The agent died or failed before the process had ended: there is an end, and no exit code.
    Interrupted,
    /// No reader gets anything any more.
    Closed,
}

/// The event with the exit code. It stays in memory: it is there even where the disk is full.
#[derive(Clone, Debug)]
pub(super) struct LastEvent {
    pub(super) sequence: u64,
    pub(super) frame: Bytes,
}

impl LastEvent {
    /// `None` for one without an exit code.
    fn new(event: &ExecStdout) -> Option<Self> {
        let frame = event::exit_frame(event)?.into();
        Some(Self { sequence: event.sequence, frame })
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

impl Spool {
    /// A spool that makes `directory` when the first output comes.
    pub(crate) fn new(directory: PathBuf, limit: SpoolLimit) -> Self {
        Self::with(directory, limit, Progress::default())
    }

    fn with(directory: PathBuf, limit: SpoolLimit, progress: Progress) -> Self {
        let index = Index::new(limit);
        let state =
            State { index, tail: Tail::default(), sequence: 0, failure: None, closed: false };
        Self {
            directory,
            limit,
            unread: AtomicBool::new(false),
            state: Mutex::new(state),
            writer: Mutex::default(),
            progress: watch::Sender::new(progress),
        }
    }

    /// Takes no more output, and returns the event with the exit code that is to end it. It may block.
    pub(crate) fn seal(&self, exit_code: i32) -> ExecStdout {
        self.state().closed = true;
        self.release();
        if !self.is_read() {
            self.forget_tail();
        }
        event::last(self.state().sequence + 1, exit_code)
    }

    /// Ends the output with that event; readers end after it.
    pub(crate) fn finish(&self, last: &ExecStdout) {
        let Some(last) = LastEvent::new(last) else {
            return;
        };
        self.progress.send_if_modified(|progress| {
            let open = matches!(progress.status, SpoolStatus::Open);
            if open {
                progress.status = SpoolStatus::Finished(last);
            }
            open
        });
    }

    /// Waits until nothing is being written to a spool that was closed, and gives back the file and the
    /// memory. It may block.
    pub(crate) fn release(&self) {
        *self.writer() = Writer::default();
    }

    /// Ends every reader now. What is written from now on is dropped.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.progress.send_modify(|progress| progress.status = SpoolStatus::Closed);
    }

    /// Takes no more output. Readers get what there is and then end, without an exit code.
    pub(crate) fn interrupt(&self) {
        let mut state = self.state();
        state.closed = true;
        let end = state.index.end();
        drop(state);
        self.progress.send_if_modified(|progress| {
            let open = matches!(progress.status, SpoolStatus::Open);
            if open {
                *progress = Progress { end, status: SpoolStatus::Interrupted };
            }
            open
        });
    }

    /// Ends the readers of a process that has not ended.
    pub(crate) fn close_if_open(&self) {
        if matches!(self.progress.borrow().status, SpoolStatus::Open) {
            self.close();
        }
    }

    /// Returns why some of it could not be written to disk, if that is so.
    pub(crate) fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    /// How many bytes of it are on disk; 0 for one that has not been looked through.
    pub(crate) fn size(&self) -> u64 {
        self.state().index.size()
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
        state.index.first_gap(self.after(&state, last_sequence), state.sequence)
    }

    /// The last event that is not asked for.
    fn after(&self, state: &State, last_sequence: i64) -> u64 {
        u64::try_from(last_sequence).unwrap_or_else(|_| {
            let count = last_sequence.unsigned_abs();
            let after = self.last_sequence(state).saturating_sub(count);
            // What was dropped is not among those that exist now.
            let oldest = state.index.oldest().unwrap_or(state.sequence + 1);
            after.max(oldest - 1)
        })
    }

    /// The segment that holds a position, or the oldest one where that has been dropped, and the position to go on at; `None` where
    /// there is nothing at that position.
    pub(super) fn segment_at(&self, position: u64) -> Option<(Arc<Segment>, u64)> {
        self.state().index.segment_at(position)
    }

    /// Opens the segment that holds a position; `None` where it has been dropped.
    pub(super) fn open(&self, segment: &Arc<Segment>, position: u64) -> io::Result<Option<File>> {
        segment.open().map(Some).or_else(|error| {
            let found = self.segment_at(position);
            // One that is still kept should be there.
            let is_kept = found.is_some_and(|(kept, _)| Arc::ptr_eq(&kept, segment));
            if is_kept { Err(error) } else { Ok(None) }
        })
    }

    /// What was written last, from a position on, if it is in memory.
    pub(super) fn read_tail(&self, position: u64) -> Option<TailChunk> {
        let is_only_reader = self.progress.receiver_count() == 1;
        self.state().tail.read(position, is_only_reader)
    }

    /// Keeps nothing in memory for readers that could keep up. They read the files.
    pub(super) fn forget_tail(&self) {
        self.state().tail.clear();
    }

    /// A reader goes.
    pub(super) fn leave(&self) {
        if self.progress.receiver_count() <= 1 {
            self.forget_tail();
        }
    }

    /// Whether anybody reads it.
    pub(crate) fn is_read(&self) -> bool {
        self.progress.receiver_count() > 0
    }

    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The number of the last event that exists.
    fn last_sequence(&self, state: &State) -> u64 {
        match &self.progress.borrow().status {
            SpoolStatus::Finished(last) => last.sequence,
            SpoolStatus::Open | SpoolStatus::Interrupted | SpoolStatus::Closed => state.sequence,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
