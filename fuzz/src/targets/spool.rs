//! The output of an exec on disk, as an agent finds it that starts after another one died.

use sandpipe_agent::{SpoolLimit, fuzz::RecoveredSpool};
use sandpipe_protocol::{ExecStdout, OutputType};

use crate::{Target, bytes::decision, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "spool",
    check,
    // A byte that says what the last event is, one for the number of segments, and what they hold.
    seeds: &[
        b"\x00\x01\x01\0\0\0\x01\x01\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0a\x01\0\0\0\x02\x02\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0b",
        b"\x09\x01\x01\0\0\0\x11\x07\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\xE2\x01\0\0\0\x01\x07\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x82",
        b"\x00\x02\0\0\0\0\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0",
    ],
    words: &[
        b"\0\0\0\0", b"\x01\0\0\0", b"\x01", b"\x02", b"\x11", b"\x12", b"\x05", b"\xFF",
        b"\x01\0\0\0\0\0\0\0", b"\x02\0\0\0\0\0\0\0", b"\x07\0\0\0\0\0\0\0", b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        b"\0\0\0\0\x01\x03\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0", b"\0\0\0\0\x02\x04\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0",
    ],
};

/// A segment takes some 100 bytes and a mark 16, in lists that grow; a mark stands for a segment, or for
/// 64 KiB. The event that is read has its bytes in memory.
const BOUND: Bound = Bound::new(8192, 64);

fn check(input: &[u8]) {
    let (last, bytes) = decision(input);
    let (count, bytes) = decision(bytes);
    let size = bytes.len() / usize::from(count % 4 + 1) + 1;
    let segments: Vec<&[u8]> = bytes.chunks(size).collect();
    let limit = SpoolLimit::new(SpoolLimit::MIN).unwrap();
    let last = (last > 0).then(|| ExecStdout {
        kind: OutputType::Stdout,
        output: String::new(),
        sequence: if last == 255 { u64::MAX } else { u64::from(last) },
        timestamp: None,
        exit_code: Some(0),
    });
    let spool = BOUND.hold(input, || RecoveredSpool::of(limit, &segments, last.as_ref()));
    let Ok(spool) = spool else {
        return;
    };
    assert!(spool.end() <= bytes.len() as u64);
    if let Some(last) = last {
        assert_eq!(spool.last_sequence(), last.sequence);
    }
    for last_sequence in [0, 1, 2, 6, i64::MAX, -1, -3, i64::MIN] {
        let (_, position) = spool.locate(last_sequence);
        assert!(position <= spool.end());
        if let Some(gap) = spool.first_gap(last_sequence) {
            assert!(gap.from <= gap.to);
        }
    }
    for position in [0, 1, spool.end() / 2, spool.end().saturating_sub(1), spool.end()] {
        let segment = spool.segment_at(position);
        assert_eq!(segment.is_some(), position < spool.end());
        if let Some([first, last, start, end]) = segment {
            assert!(first <= last && start <= position && position < end);
        }
    }
}
