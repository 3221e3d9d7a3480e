//! Output in binary frames, against a plain reading of the interface, and the text that is made of it.

use sandpipe_protocol::frame::{Decoder, Frame, HEADER_LEN, MAX_PAYLOAD, Payload};
use sandpipe_protocol::{Characters, Gap, OutputType};

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "frames",
    check,
    seeds: &[
        b"\x05\x03\0\0\0\x01\x01\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0abc\x04\0\0\0\x03\x02\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x2A\0\0\0",
        b"\x02\x02\0\0\0\x11\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xE2\x82\x01\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xAC",
        b"\x00\x10\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0",
    ],
    words: &[
        b"\0\0\0\0\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\x03\0\0\0\x02\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\0\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\x01\0\0\0\x12\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xF0",
        b"\0\0\x01\0",
        b"\x01\0\x01\0",
        b"\xE2\x82\xAC",
        b"\xE2\x82",
        b"\x80",
        b"\xFF",
    ],
};

/// What is kept of an unfinished frame grows by doubling; what was seen is kept, too.
const BOUND: Bound = Bound::new(1024, 128);

/// What a frame says, as text, so that it outlives the frame.
type Seen = (u64, u64, String);

fn check(input: &[u8]) {
    let (place, bytes) = decision(input);
    let decoded = BOUND.hold(bytes, || decode(cut(place, bytes)));
    assert_eq!(decoded, decode([bytes].into_iter()), "cut otherwise");
    assert_eq!(decoded, plainly(bytes), "as the interface has it");
    let mut characters = Characters::default();
    let parts = cut(place, bytes).map(|piece| characters.next(piece).to_text());
    let text = parts.collect::<String>() + &characters.next(&[]).to_text();
    assert_eq!(text, String::from_utf8_lossy(bytes));
}

/// The frames, and whether what follows can't be any.
fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Seen>, bool) {
    let mut decoder = Decoder::default();
    let mut seen = Vec::new();
    for piece in pieces {
        let fed = decoder.feed(piece, &mut |Frame { sequence, time, payload }| {
            seen.push((sequence, time, format!("{payload:?}")));
        });
        if fed.is_err() {
            return (seen, true);
        }
    }
    (seen, false)
}

fn plainly(bytes: &[u8]) -> (Vec<Seen>, bool) {
    let mut seen = Vec::new();
    let mut rest = bytes;
    while rest.len() >= HEADER_LEN {
        let len = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        if len > MAX_PAYLOAD {
            return (seen, true);
        }
        if rest.len() < HEADER_LEN + len {
            break;
        }
        let number = |from: &[u8]| u64::from_le_bytes(from[..8].try_into().unwrap());
        let (kind, sequence, time) = (rest[4], number(&rest[5..]), number(&rest[13..]));
        let payload = &rest[HEADER_LEN..HEADER_LEN + len];
        let payload = match (kind, len) {
            (1, _) => Payload::Output(OutputType::Stdout, payload),
            (2, _) => Payload::Output(OutputType::Stderr, payload),
            (3, 4) => Payload::Exit(i32::from_le_bytes(payload.try_into().unwrap())),
            (4, 16) => Payload::Gap(Gap { from: number(payload), to: number(&payload[8..]) }),
            (5, _) => Payload::Ping,
            (6, _) => Payload::Exec(payload),
            (17, ..4) => Payload::Unfinished(OutputType::Stdout, payload),
            (18, ..4) => Payload::Unfinished(OutputType::Stderr, payload),
            (3 | 4 | 17 | 18, _) => return (seen, true),
            _ => Payload::Unknown,
        };
        seen.push((sequence, time, format!("{payload:?}")));
        rest = &rest[HEADER_LEN + len..];
    }
    (seen, false)
}
