//! Server-Sent Events, against a plain reading of the HTML standard (section 9.2.6).

use sandpipe_protocol::sse::Decoder;

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "sse",
    check,
    seeds: &[
        b"\x07\x00data: {\"type\":\"stdout\",\"output\":\"a\",\"sequence\":1}\n\n",
        b"\x0b\x00\xEF\xBB\xBFid: 1\r\nevent: gap\r\ndata: a\r\ndata:b\r\rretry: 10\n\n: ping\n\ndata\n\n",
        b"\x03\x14data: x\ndata: y\nid: 7\n\ndata: z\n\n",
    ],
    words: &[
        b"data: ", b"data:", b"data\n", b"event: ", b"id: ", b"id\n", b"retry: ", b"\n", b"\r", b"\r\n",
        b"\n\n", b": ping\n\n", b"\xEF\xBB\xBF", b"\0", b":",
    ],
};

/// What a line holds grows by doubling, and may be copied once to be an event's.
const BOUND: Bound = Bound::new(1024, 16);

#[derive(Debug, Default, PartialEq, Eq)]
struct Decoded {
    /// Names and data.
    events: Vec<(Vec<u8>, Vec<u8>)>,
    id: String,
    retry: Option<u64>,
    too_large: bool,
}

fn check(input: &[u8]) {
    let (place, input) = decision(input);
    let (limit, text) = decision(input);
    let limit = if limit == 0 { usize::MAX } else { usize::from(limit) };
    let whole = decode(limit, [text].into_iter());
    BOUND.hold(text, || {
        let mut decoder = Decoder::with_limit(limit);
        for piece in cut(place, text) {
            decoder.feed(piece, &mut |_| ()).unwrap_or_default();
        }
    });
    assert_eq!(decode(limit, cut(place, text)), whole, "cut otherwise");
    if limit == usize::MAX {
        assert_eq!(whole, plainly(text), "as the standard has it");
    }
}

fn decode<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = Decoder::with_limit(limit);
    let mut seen = Decoded::default();
    for piece in pieces {
        let fed = decoder.feed(piece, &mut |event| {
            assert!(event.data.len() <= limit);
            seen.events.push((event.name.as_bytes().to_vec(), event.data.to_vec()));
        });
        seen.too_large = fed.is_err();
    }
    decoder.last_event_id().clone_into(&mut seen.id);
    seen.retry = decoder.retry();
    seen
}

/// Word by word what the standard says.
fn plainly(text: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let (mut name, mut data) = (Vec::new(), Vec::new());
    let (mut id, mut last_id) = (None, Vec::new());
    let mut rest = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let line = &rest[..end];
        rest = rest[end..].strip_prefix(b"\r\n").unwrap_or(&rest[end + 1..]);
        if line.is_empty() {
            if let Some(id) = id.take() {
                last_id = id;
            }
            if data.pop().is_some() {
                decoded.events.push((lossy(&name), std::mem::take(&mut data)));
            }
            name.clear();
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = colon.map_or((line, &[][..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => name = value.to_vec(),
            b"data" => {
                data.extend_from_slice(value);
                data.push(b'\n');
            }
            b"id" if !value.contains(&0) => id = Some(value.to_vec()),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let number = std::str::from_utf8(value).unwrap().parse();
                decoded.retry = number.ok().or(decoded.retry);
            }
            _ => {}
        }
    }
    decoded.id = String::from_utf8(lossy(&last_id)).unwrap();
    decoded
}

fn lossy(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes).into_owned().into_bytes()
}
