//! What an agent and the box that runs its commands say to each other.

use std::iter::once;

use sandpipe_agent::fuzz::{read_reply, read_reports, read_requests};

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "box-messages",
    check,
    // A byte that says how the rest is cut, and messages.
    seeds: &[
        b"\x03\x1b\0\0\0\0\x05\x02\x02sh\x02-c\x01\x03A=b\x01/\x00\x01\x07\x08\x01\x09\x80\x08\x80\x20\x04\0\0\0\x01\x01\x05\0",
        b"\x01\x01\0\0\0\0\x04\0\0\0\x01\x05\x06\x01\x02\0\0\0\x02\x05\x04\0\0\0\x03\x01\0\x01\x04\0\0\0\x03\x01\x01\x02",
    ],
    words: &[
        b"\0\0\0", b"\x01\0\0\0", b"\x02\0\0\0", b"\x04\0\0\0", b"\0", b"\x01", b"\x02", b"\x03", b"\x7f",
        b"\x80\x01", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff",
    ],
};

/// A list says how long it is before its items come, and has room for some of that: serde takes at most 1 MiB in advance, for each of
/// those that a message has within one another.
const BOUND: Bound = Bound::new(4 << 20, 256);

fn check(input: &[u8]) {
    let (at, bytes) = decision(input);
    let requests = BOUND.hold(bytes, || read_requests(cut(at, bytes)));
    assert_eq!(read_requests(once(bytes)), requests);
    assert_eq!(read_requests(requests.iter().map(Vec::as_slice)), requests);
    let reports = BOUND.hold(bytes, || read_reports(cut(at, bytes)));
    assert_eq!(read_reports(once(bytes)), reports);
    assert_eq!(read_reports(reports.iter().map(Vec::as_slice)), reports);
    if let Some(reply) = read_reply(bytes) {
        assert_eq!(reply, bytes);
    }
}
