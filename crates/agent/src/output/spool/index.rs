use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use sandpipe_protocol::Gap;

use super::{
    limit::SpoolLimit,
    segment::{Place, Segment},
};

/// What the names of segment files end with.
pub(super) const EXTENSION: &str = "frames";

/// The most bytes of an output that are kept in memory where they can't be written to disk.
pub(super) const MEMORY: u64 = 4 * MEMORY_SEGMENT;
/// The size at which a segment in memory is full: at least one event.
const MEMORY_SEGMENT: u64 = 32 * 1024;

/// What of a spool is where. It decides when a segment is full and which ones are dropped; it does
/// no I/O.
///
/// It knows the position of one event in each stride only: finding another means reading on from
/// there. So it stays small however many events there are.
#[derive(Debug)]
pub(super) struct Index {
    limit: SpoolLimit,
    segments: VecDeque<Arc<Segment>>,
    marks: VecDeque<Mark>,
    /// The number of the next segment.
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    sequence: u64,
    position: u64,
}

impl Index {
    pub(super) fn new(limit: SpoolLimit) -> Self {
        Self { limit, segments: VecDeque::new(), marks: VecDeque::new(), number: 0 }
    }

    /// The position behind the last event.
    pub(super) fn end(&self) -> u64 {
        self.segments.back().map_or(0, |last| last.end())
    }

    /// The segment that takes an event of `len` bytes, and how many bytes it has room for; `None` where a new one is due. One is also
    /// due after events that could not be written: they are missing between two segments only.
    pub(super) fn segment_for(&self, sequence: u64, len: u64) -> Option<(Arc<Segment>, u64)> {
        let last = self.segments.back()?;
        let size = if last.path().is_some() { self.limit.segment() } else { MEMORY_SEGMENT };
        let room = size.saturating_sub(last.len());
        let fits = last.len() == 0 || len <= room;
        (fits && last.last() + 1 == sequence).then(|| (Arc::clone(last), room))
    }

    /// The name of the next segment's file.
    pub(super) fn next_name(&self) -> PathBuf {
        format!("{:04}.{EXTENSION}", self.number).into()
    }

    /// Begins a new segment at the end, with the event of number `first`.
    pub(super) fn add_segment(&mut self, path: PathBuf, first: u64) -> Arc<Segment> {
        self.number += 1;
        self.add(Place::File(path), first)
    }

    /// Begins a new segment in memory at the end, in place of an empty file, with the event of
    /// number `first`. Returns the file as well.
    pub(super) fn add_segment_in_memory(
        &mut self,
        first: u64,
    ) -> (Arc<Segment>, Option<Arc<Segment>>) {
        let empty = self.segments.pop_back_if(|last| last.len() == 0);
        (self.add(Place::Memory(Mutex::default()), first), empty)
    }

    fn add(&mut self, place: Place, first: u64) -> Arc<Segment> {
        let segment = Arc::new(Segment::new(place, first, self.end()));
        self.segments.push_back(Arc::clone(&segment));
        segment
    }

    /// Drops the oldest output in memory that is more than may be there. The newest segment stays.
    pub(super) fn trim_memory(&mut self) {
        let in_memory = |segment: &Arc<Segment>| segment.path().is_none();
        let mut size: u64 =
            self.segments.iter().filter(|one| in_memory(one)).map(|one| one.len()).sum();
        while size > MEMORY
            && let Some(oldest) = self.segments.iter().position(in_memory)
            && let Some(dropped) = self.segments.remove(oldest)
        {
            size -= dropped.len();
            self.marks.retain(|mark| !(dropped.start..dropped.end()).contains(&mark.position));
        }
    }

    /// The bytes of all files.
    pub(super) fn size(&self) -> u64 {
        self.segments.iter().filter(|one| one.path().is_some()).map(|one| one.len()).sum()
    }

    /// Takes out the oldest segment if there is not room for `len` more bytes with it. The newest one
    /// always stays.
    pub(super) fn drop_for(&mut self, len: u64) -> Option<Arc<Segment>> {
        if self.size() + len <= self.limit.total() {
            return None;
        }
        self.drop_oldest()
    }

    /// Takes out the oldest segment, where it takes more room on the disk than there is in memory.
    pub(super) fn drop_oldest_file(&mut self) -> Option<Arc<Segment>> {
        let oldest = self.segments.front()?;
        (oldest.path().is_some() && oldest.len() > MEMORY).then(|| self.drop_oldest())?
    }

    /// Takes out the oldest segment, unless it is the newest one too.
    pub(super) fn drop_oldest(&mut self) -> Option<Arc<Segment>> {
        if self.segments.len() < 2 {
            return None;
        }
        let dropped = self.segments.pop_front()?;
        let start = self.segments.front().map_or(0, |oldest| oldest.start);
        while self.marks.front().is_some_and(|mark| mark.position < start) {
            self.marks.pop_front();
        }
        Some(dropped)
    }

    /// An event was written at `position`, up to `end`.
    pub(super) fn wrote(&mut self, segment: &Segment, sequence: u64, end: u64) {
        let position = segment.end();
        // The first of each segment has one: dropping the segment before must not lose the way.
        let due = position == segment.start
            || self.marks.back().is_none_or(|mark| position - mark.position >= self.limit.stride());
        if due {
            self.marks.push_back(Mark { sequence, position });
        }
        segment.advance(sequence, end);
    }

    /// A position before the event of that number, or at it; the oldest there is where it was
    /// dropped. Less than a stride lies between.
    pub(super) fn position_before(&self, sequence: u64) -> u64 {
        let after = self.marks.partition_point(|mark| mark.sequence <= sequence);
        let mark = after
            .checked_sub(1)
            .and_then(|index| self.marks.get(index))
            .or_else(|| self.marks.front());
        mark.map_or(0, |mark| mark.position)
    }

    /// The first events after that of number `after` that are missing, up to that of number `last`.
    pub(super) fn first_gap(&self, after: u64, last: u64) -> Option<Gap> {
        let mut next = after.saturating_add(1);
        for segment in &self.segments {
            if segment.first > next {
                return Some(Gap { from: next, to: segment.first - 1 });
            }
            next = next.max(segment.last() + 1);
        }
        (next <= last).then_some(Gap { from: next, to: last })
    }

    /// The number of the oldest event that is there.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.segments.front().map(|segment| segment.first)
    }

    /// The segment with the byte at `position`, or the oldest one where that was dropped; with the
    /// position to go on at. `None` where there is nothing at that position yet.
    pub(super) fn segment_at(&self, position: u64) -> Option<(Arc<Segment>, u64)> {
        let next = self.segments.partition_point(|segment| segment.end() <= position);
        let segment = self.segments.get(next)?;
        Some((Arc::clone(segment), position.max(segment.start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes events 1 to `count` of `len` bytes each, dropping as the limit asks for.
    fn index_of(limit: u64, count: u64, len: u64) -> Index {
        let mut index = Index::new(SpoolLimit::new(limit).unwrap());
        for sequence in 1..=count {
            let found = index.segment_for(sequence, len).map(|(segment, _)| segment);
            let segment = found.unwrap_or_else(|| {
                let name = index.next_name();
                index.add_segment(name, sequence)
            });
            while index.drop_for(len).is_some() {}
            let end = segment.end() + len;
            index.wrote(&segment, sequence, end);
        }
        index
    }

    fn kept(index: &Index) -> u64 {
        index.segments.iter().map(|segment| segment.len()).sum()
    }

    #[test]
    fn keeps_no_more_than_the_limit_and_the_newest() {
        for (limit, len) in [(65_536, 100), (65_536, 40_000), (1 << 20, 33_000)] {
            let index = index_of(limit, 10_000, len);
            assert!(kept(&index) <= limit, "{} of {limit}", kept(&index));
            assert_eq!(index.end(), 10_000 * len);
            assert!(kept(&index) >= limit / 2);
        }
    }

    #[test]
    fn an_event_over_the_limit_is_kept_alone() {
        let index = index_of(65_536, 10, 200_000);
        assert_eq!(index.segments.len(), 1);
        assert_eq!(kept(&index), 200_000);
        assert_eq!(index.position_before(10), 9 * 200_000);
    }

    #[test]
    fn finds_each_event_within_a_stride() {
        let index = index_of(1 << 24, 10_000, 1_000);
        for sequence in 1..=10_000 {
            let position = index.position_before(sequence);
            let exact = (sequence - 1) * 1_000;
            assert!(position <= exact && exact - position <= 66_000);
        }
    }

    #[test]
    fn what_was_dropped_is_found_at_the_oldest_that_is_kept() {
        let index = index_of(65_536, 10_000, 1_000);
        let oldest = index.segments.front().unwrap().start;
        assert!(oldest > 0);
        assert_eq!(index.position_before(1), oldest);
        let (segment, position) = index.segment_at(17).unwrap();
        assert_eq!((segment.start, position), (oldest, oldest));
        assert!(index.segment_at(index.end()).is_none());
    }

    #[test]
    fn memory_stays_small_for_many_events() {
        let index = index_of(1 << 30, 2_000_000, 1_000);
        assert!(index.marks.len() <= 17_000, "{} marks", index.marks.len());
        assert!(index.segments.len() <= 64);
    }
}
