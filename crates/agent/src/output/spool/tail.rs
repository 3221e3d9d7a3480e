use std::collections::VecDeque;

use bytes::Bytes;

/// The most bytes of output that are kept in memory for readers.
const LIMIT: usize = 512 * 1024;

/// What is as short is copied: it must not keep the whole block in memory that it was read into.
const COPIED: usize = 64 * 1024;

/// The last bytes that were written, in memory: a reader that keeps up gets them from here, and the disk is not read. It is by no
/// means all, and empty where nobody reads.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// One after the other, without a gap.
    chunks: VecDeque<TailChunk>,
    /// The position of the first of them.
    start: u64,
    len: usize,
}

/// What was written at once, or what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::output) struct TailChunk {
    pub(in crate::output) bytes: Bytes,
    /// The number of its last event, whose end is its own.
    pub(in crate::output) last: u64,
}

impl TailChunk {
    /// The memory that it takes is no more than twice as much as its bytes.
    pub(super) fn of(bytes: &Bytes, last: u64) -> Self {
        let is_short = bytes.len() <= COPIED;
        let bytes = if is_short { Bytes::copy_from_slice(bytes) } else { bytes.clone() };
        Self { bytes, last }
    }
}

impl Tail {
    /// These bytes were written at a position.
    pub(super) fn push(&mut self, position: u64, chunk: TailChunk) {
        if self.start + self.len as u64 != position {
            self.clear();
        }
        if self.chunks.is_empty() {
            self.start = position;
        }
        self.len += chunk.bytes.len();
        self.chunks.push_back(chunk);
        while self.len > LIMIT {
            self.drop_oldest();
        }
    }

    /// What there is from a position on, up to the end of what was written at once; `None` where it has no such bytes. A reader
    /// that is the only one takes them out.
    pub(super) fn read(&mut self, position: u64, is_only_reader: bool) -> Option<TailChunk> {
        let mut left = usize::try_from(position.checked_sub(self.start)?).ok()?;
        let before = self.chunks.iter().take_while(|chunk| {
            let is_before = left >= chunk.bytes.len();
            left -= if is_before { chunk.bytes.len() } else { 0 };
            is_before
        });
        let before = before.count();
        let TailChunk { bytes, last } = self.chunks.get(before)?;
        let found = TailChunk { bytes: bytes.slice(left..), last: *last };
        if is_only_reader {
            (0..=before).for_each(|_| self.drop_oldest());
        }
        Some(found)
    }

    fn drop_oldest(&mut self) {
        if let Some(TailChunk { bytes, .. }) = self.chunks.pop_front() {
            self.len -= bytes.len();
            self.start += bytes.len() as u64;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: &[u8], last: u64) -> TailChunk {
        TailChunk::of(&Bytes::copy_from_slice(bytes), last)
    }

    #[test]
    fn gives_what_was_written_from_any_position_on() {
        let mut tail = Tail::default();
        assert_eq!(tail.read(0, false), None);
        tail.push(10, chunk(b"abc", 7));
        tail.push(13, chunk(b"de", 9));
        let mut check = |is_only_reader, found: [Option<(&[u8], u64)>; 6]| {
            for (position, expected) in [9, 10, 12, 13, 14, 15].into_iter().zip(found) {
                let found = tail.read(position, is_only_reader);
                assert_eq!(found, expected.map(|(bytes, last)| chunk(bytes, last)), "{position}");
            }
        };
        let (abc, c, de, e) = ((&b"abc"[..], 7), (&b"c"[..], 7), (&b"de"[..], 9), (&b"e"[..], 9));
        check(false, [None, Some(abc), Some(c), Some(de), Some(e), None]);
        check(true, [None, Some(abc), None, Some(de), None, None]);
        tail.push(15, chunk(b"f", 10));
        assert_eq!(tail.read(15, true), Some(chunk(b"f", 10)));
        assert_eq!(tail.len, 0);
    }

    #[test]
    fn has_the_last_bytes_alone_and_never_a_hole() {
        let mut tail = Tail::default();
        let bytes = vec![0; 100_000];
        for position in 0..100_u64 {
            tail.push(position * 100_000, chunk(&bytes, position));
            assert!(tail.len <= LIMIT);
        }
        assert_eq!(tail.read(9_400_000, false), None);
        let found = tail.read(9_500_001, false).unwrap();
        assert_eq!((found.bytes.len(), found.last), (99_999, 95));
        tail.push(10_000_001, chunk(b"x", 101));
        assert_eq!(tail.read(9_900_000, false), None);
        assert_eq!(tail.read(10_000_001, false), Some(chunk(b"x", 101)));
    }
}
