//! Following an output: each event once and in order, wherever the bytes are cut.

use sandpipe_client::fuzz::{Followed, follow};
use sandpipe_text::Units;

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "output",
    check,
    seeds: &[
        b"\x05\x00\x00data: {\"type\":\"stdout\",\"output\":\"a\",\"sequence\":1}\n\ndata: {\"type\":\"stderr\",\"output\":\"\\u00e9\",\"sequence\":2,\"timestamp\":\"t\"}\n\ndata: {\"type\":\"stdout\",\"output\":\"\",\"sequence\":3,\"exitCode\":7}\n\n",
        b"\x05\x02\x00: ping\n\nevent: gap\ndata: {\"from\":3,\"to\":9}\n\n",
        b"\x05\xFE\x00data: {\"more\":{},\"type\":\"stdout\",\"output\":\"\\ud83d\\ude00\",\"sequence\":41}\n\n",
        b"\x05\x00\x01\x02\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a\xE2\x02\0\0\0\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x82\xAC\x04\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0",
    ],
    words: &[
        b"data: ", b"\n", b"\n\n", b"event: gap\n", b"event: exec\n", b"event: message\n", b": ping\n\n",
        b"{\"type\":\"stdout\",\"output\":\"", b"\",\"sequence\":", b",\"exitCode\":0}", b"\"sequence\":1", b"\"sequence\":2",
        b"\"sequence\":3", b"data: {\"type\":\"stdout\",\"output\":\"b\",\"sequence\":2}\n\n",
        b"data: {\"type\":\"stdout\",\"output\":\"c\",\"sequence\":3,\"more\":[]}\n\n", b"{\"from\":1,\"to\":2}",
    ],
};

/// That of a text, and of what JSON takes that is not of the usual form.
const BOUND: Bound = Bound::new(2 * 3 * 65_536, 96);

fn check(input: &[u8]) {
    let (place, input) = decision(input);
    let (after, stream) = decision(input);
    let (form, stream) = decision(stream);
    let (after, in_frames) = (i64::from(after.cast_signed()), form % 2 == 1);
    let pieces = BOUND.hold(stream, || follow(in_frames, after, cut(place, stream)));
    let whole = follow(in_frames, after, [stream]);
    assert_eq!(seen(&pieces), seen(&whole), "cut otherwise");

    let texts: String = whole.events.iter().map(|event| event.output.as_str()).collect();
    assert_eq!(text(&whole), texts);
    let numbers = whole.events.iter().map(|event| event.sequence);
    assert!(numbers.clone().zip(numbers.skip(1)).all(|(one, next)| next == one.saturating_add(1)));
    if let Some(first) = whole.events.first()
        && after >= 0
    {
        let next = after.cast_unsigned() + 1;
        assert!(first.sequence == next || (after == 0 && first.sequence == 0));
    }
}

fn seen(followed: &Followed) -> impl PartialEq + std::fmt::Debug + '_ {
    let Followed { events, exit_code, last_sequence, broken, .. } = followed;
    (events, text(followed), exit_code, last_sequence, broken)
}

fn text(followed: &Followed) -> String {
    match followed.text.units() {
        Units::Ascii(bytes) | Units::Latin1(bytes) => {
            bytes.iter().copied().map(char::from).collect()
        }
        Units::Utf16(units) => String::from_utf16(units).unwrap(),
    }
}
