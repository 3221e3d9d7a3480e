//! Strings in JSON, and text as JavaScript keeps it, against `serde_json` and the standard library.

use sandpipe_protocol::json_string::JsonString;
use sandpipe_text::{Text, Units};

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "json-string",
    check,
    seeds: &[
        b"\"a\\n\\u001b[31m\\u00e9\\\"\",",
        "\"日本語のテキスト、中文文本、한국어 텍스트😀é\"}".as_bytes(),
        b"\"plain text that is longer than a block of sixteen bytes\"",
        b"\"\xE2\x82\xF0\x9F\x98\xED\xA0\x80\xC0\x80\"",
    ],
    words: &[
        b"\"",
        b"\\\"",
        b"\\\\",
        b"\\/",
        b"\\n",
        b"\\u00e9",
        b"\\u20ac",
        b"\\ud83d\\ude00",
        b"\\ud800",
        b"\\u",
        b"\\x",
        b"\n",
        b"\0",
        b"\x7f",
        b"\xC3\xA9",
        b"\xE2\x82\xAC",
        b"\xE2\x82",
        b"\xF0\x9F\x98\x80",
        b"\xF0\x9F\x98",
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
        b"\xE0\x80\x80",
        b"\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE",
    ],
};

/// A text takes memory in steps of 65,536 code units, of one and then of two bytes each; while it grows it
/// has the old and the new.
const BOUND: Bound = Bound::new(2 * 3 * 65_536, 16);

fn check(input: &[u8]) {
    // As UTF-8.
    let lossy = String::from_utf8_lossy(input);
    let mut text = BOUND.hold(input, || {
        let mut text = Text::default();
        text.push_utf8(input);
        text
    });
    is_text(&text, &lossy);

    // As JSON, behind what is there.
    let read = BOUND.hold(input, || JsonString::read(input));
    let behind = text.push_string(input);
    assert_eq!(behind, read.map(|(_, behind)| behind));
    let Some((string, behind)) = read else {
        is_text(&text, &lossy);
        assert!(is_wrong(&lossy));
        return;
    };
    let string = BOUND.hold(input, || String::from(string));
    let quoted = String::from_utf8_lossy(&input[..input.len() - behind.len()]);
    assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_ref(), Some(&string));
    is_text(&text, &format!("{lossy}{string}"));
}

fn is_text(text: &Text, expected: &str) {
    let found = match text.units() {
        Units::Ascii(bytes) => {
            assert!(bytes.is_ascii());
            bytes.iter().copied().map(char::from).collect()
        }
        Units::Latin1(bytes) => bytes.iter().copied().map(char::from).collect(),
        Units::Utf16(units) => String::from_utf16(units).unwrap(),
    };
    assert_eq!(found, expected);
    assert_eq!(text.utf8_length(), expected.len());
}

/// Whether `serde_json` does not take all of it for a string either, or it has a surrogate pair.
fn is_wrong(text: &str) -> bool {
    let surrogates = text.to_ascii_lowercase().contains("\\ud");
    surrogates || !text.starts_with('"') || serde_json::from_str::<String>(text).is_err()
}
