use sandpipe_text::{Text, Units};
use wasm_bindgen_test::wasm_bindgen_test;

/// Characters of every length, the first and the last of some, and what is none: half of a pair, longer
/// than need be, cut.
const PARTS: [&[u8]; 16] = [
    b"a",
    "é".as_bytes(),
    "正".as_bytes(),
    "在".as_bytes(),
    "編".as_bytes(),
    "訳".as_bytes(),
    "\u{800}".as_bytes(),
    "\u{D7FF}".as_bytes(),
    "\u{E000}".as_bytes(),
    "\u{FFFF}".as_bytes(),
    "😀".as_bytes(),
    b"\xED\xA0\x80",
    b"\xE0\x9F\xBF",
    b"\xE6\xAD",
    b"\xE6",
    b"\x80",
];

#[wasm_bindgen_test]
fn it_is_decoded_as_the_standard_library_does() {
    let mut state: u32 = 1;
    for _ in 0..5000 {
        let mut bytes = Vec::new();
        for _ in 0..24 {
            // Xorshift: the same numbers each time. Most characters have three bytes.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let part =
                if state & 0x700 == 0 { state as usize % 16 } else { 2 + state as usize % 8 };
            bytes.extend_from_slice(PARTS[part]);
        }
        let mut text = Text::default();
        text.push_utf8(&bytes);
        let decoded = match text.units() {
            Units::Ascii(units) | Units::Latin1(units) => {
                units.iter().copied().map(char::from).collect()
            }
            Units::Utf16(units) => String::from_utf16(units).unwrap(),
        };
        assert_eq!(decoded, String::from_utf8_lossy(&bytes));
        assert_eq!(text.utf8_length(), decoded.len());
    }
}
