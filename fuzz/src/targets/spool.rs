//! The output of an exec on disk, as an agent finds it that starts after another one died.

use sandpipe_agent::{SpoolLimit, fuzz::RecoveredSpool};
use sandpipe_protocol::{ExecStdout, OutputType};

use crate::{Target, bytes::decision, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "spool",
    check,
    seeds: &[
        b"\x00data: {\"type\":\"stdout\",\"output\":\"a\",\"sequence\":1}\n\ndata: {\"type\":\"stdout\",\"output\":\"b\",\"sequence\":2}\n\n\0data: {\"type\":\"stderr\",\"output\":\"\",\"sequence\":5}\n\ndata: {\"ty",
        b"\x09data: {\"sequence\":18446744073709551615}\n\n",
    ],
    words: &[
        b"data: ", b"\n", b"\n\n", b"\0", b"{\"sequence\":1}", b"{\"sequence\":2}", b"{\"sequence\":7}", b"\"sequence\":",
        b"data: {\"sequence\":3}\n\n", b"\0data: {\"sequence\":9}\n\n", b"{", b"}", b"\xFF",
    ],
};

/// A segment takes some 100 bytes and a mark 16, in lists that grow; a mark stands for a segment, or for
/// 64 KiB.
const BOUND: Bound = Bound::new(8192, 64);

fn check(input: &[u8]) {
    let (last, bytes) = decision(input);
    let segments: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
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
