//! The elements of a JSON array that arrives in pieces, against `serde_json`.

use sandpipe_protocol::json_array::Elements;

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "json-array",
    check,
    seeds: &[
        br#"7[{"type":"stdout","output":"a","sequence":1},{"type":"stdout","output":"],[\"\\","sequence":2}]"#,
        b"3 [ 1 , [2, {\"a\": [\"}\"]}] , \"x\" ] ",
        b"0[]",
    ],
    words: &[
        b"[", b"]", b"{", b"}", b",", b"\"", b"\\\"", b"\\\\", b" ", b"\n", b"null", b"1", b"{\"a\":[]}", b"\"],[\"",
        b"\x0c",
    ],
};

const BOUND: Bound = Bound::new(1024, 4);

fn check(input: &[u8]) {
    let (place, text) = decision(input);
    BOUND.hold(text, || {
        let mut elements = Elements::default();
        for piece in cut(place, text) {
            if elements.feed(piece, &mut |_| ()).is_err() {
                break;
            }
        }
    });
    let whole = elements([text].into_iter());
    assert_eq!(elements(cut(place, text)), whole, "cut otherwise");
    if let Ok(serde_json::Value::Array(values)) = serde_json::from_slice(text) {
        let (found, complete) = whole;
        assert!(complete);
        let found: Vec<serde_json::Value> =
            found.iter().map(|element| serde_json::from_slice(element).unwrap()).collect();
        assert_eq!(found, values);
    }
}

fn elements<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, bool) {
    let mut elements = Elements::default();
    let mut found = Vec::new();
    for piece in pieces {
        if elements.feed(piece, &mut |element| found.push(element.to_vec())).is_err() {
            return (found, false);
        }
    }
    (found, elements.is_complete())
}
