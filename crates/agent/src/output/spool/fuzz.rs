//! Recovery from what is on disk, for the fuzz targets.

use std::{io, path::PathBuf};

use sandpipe_protocol::{ExecStdout, Gap};

use super::{Index, Spool, SpoolLimit, recover::recover_segment};

/// A spool that was recovered, without files.
#[derive(Debug)]
pub struct RecoveredSpool(Spool);

impl RecoveredSpool {
    /// Recovers segments of these contents; `last` is the event that ends the output.
    ///
    /// # Errors
    /// A segment does not begin with an event.
    pub fn of(
        limit: SpoolLimit,
        segments: &[&[u8]],
        last: Option<&ExecStdout>,
    ) -> io::Result<Self> {
        let mut index = Index::new(limit);
        let mut sequence = 0;
        for segment in segments {
            if let Some(last) = recover_segment(&mut index, PathBuf::new(), *segment)? {
                sequence = last;
            }
        }
        let spool = Spool::left(PathBuf::new(), limit, last, None);
        spool.set_loaded(index, sequence);
        Ok(Self(spool))
    }

    /// How many bytes of events it has.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.0.watch().borrow().end
    }

    /// The number of the last event that exists.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.0.last_sequence(&self.0.state())
    }

    /// Where a reader begins that asks for `lastSequence`: the event that it has, and a position.
    #[must_use]
    pub fn locate(&self, last_sequence: i64) -> (u64, u64) {
        let start = self.0.locate(last_sequence);
        (start.after, start.position)
    }

    /// The first events that such a reader would miss.
    #[must_use]
    pub fn first_gap(&self, last_sequence: i64) -> Option<Gap> {
        self.0.first_gap(last_sequence)
    }

    /// The first and last number of the segment that holds a position, and its bounds.
    #[must_use]
    pub fn segment_at(&self, position: u64) -> Option<[u64; 4]> {
        let (segment, _) = self.0.state().index.segment_at(position)?;
        Some([segment.first, segment.last(), segment.start, segment.end()])
    }
}
