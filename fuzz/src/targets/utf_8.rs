//! The bytes of a process's output, against the standard library.

use sandpipe_agent::fuzz::decode;

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "utf-8",
    check,
    seeds: &[
        "\x05plain é € 日本 😀 \u{feff}".as_bytes(),
        b"\x03\xE2\x82\xF0\x9F\x98\xED\xA0\x80\xC0\x80\xF4\x90\x80\x80\xFF\xFE",
    ],
    words: &[
        b"\xC3\xA9",
        b"\xC3",
        b"\xE2\x82\xAC",
        b"\xE2\x82",
        b"\xE2",
        b"\xF0\x9F\x98\x80",
        b"\xF0\x9F\x98",
        b"\xF0\x9F",
        b"\xF0",
        b"\x80",
        b"\xED\xA0\x80",
        b"\xEF\xBB\xBF",
        b"\xF5",
        b"\0",
        b"\x1b[0m",
        b"\r\n",
    ],
};

/// The block that is read into, and the pieces themselves: each of one byte may take 24 more, in a list that
/// grows.
const BOUND: Bound = Bound::new(2 * 8192, 192);

fn check(input: &[u8]) {
    let (place, bytes) = decision(input);
    let pieces = BOUND.hold(bytes, || decode(cut(place, bytes)));
    assert_eq!(pieces.concat(), String::from_utf8_lossy(bytes));
}
