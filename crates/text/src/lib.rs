//! Text as JavaScript keeps it: Latin-1 as long as that will do, else UTF-16.
//!
//! Built here, it becomes a string without a UTF-8 decoder, which takes longer than all else that is
//! done with output.

use sandpipe_protocol::blocks::{Block, first_marked, split_block};
use sandpipe_protocol::json_string::{JsonString, unescape};

/// A text that grows. Its memory serves the next text when it is cleared.
#[derive(Debug, Default)]
pub struct Text {
    /// Room for code units, of which the first `length` are the text's.
    narrow: Vec<u8>,
    /// In place of `narrow`, once there was a character above U+00FF.
    wide: Vec<u16>,
    is_wide: bool,
    length: usize,
    utf8_length: usize,
}

/// A text's code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units<'a> {
    /// ASCII.
    Ascii(&'a [u8]),
    /// Latin-1: U+0000 to U+00FF.
    Latin1(&'a [u8]),
    /// UTF-16.
    Utf16(&'a [u16]),
}

/// Whether a backslash begins an escape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    Json,
}

impl Text {
    /// Makes it empty, and narrow again.
    pub fn clear(&mut self) {
        self.is_wide = false;
        self.length = 0;
        self.utf8_length = 0;
    }

    /// Whether it has no code units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many bytes of UTF-8 it would be.
    #[must_use]
    pub fn utf8_length(&self) -> usize {
        self.utf8_length
    }

    /// Its code units, as narrow as they can be.
    #[must_use]
    pub fn units(&self) -> Units<'_> {
        if self.is_wide {
            return Units::Utf16(self.wide.get(..self.length).unwrap_or_default());
        }
        let units = self.narrow.get(..self.length).unwrap_or_default();
        if self.length == self.utf8_length { Units::Ascii(units) } else { Units::Latin1(units) }
    }

    /// Appends what a JSON string stands for.
    pub fn push_unescaped(&mut self, string: JsonString<'_>) {
        self.push_all(string.escaped(), Escapes::Json);
    }

    /// Appends UTF-8; what is none becomes U+FFFD.
    pub fn push_utf8(&mut self, text: &[u8]) {
        self.push_all(text, Escapes::None);
    }

    fn push_all(&mut self, text: &[u8], escapes: Escapes) {
        // No byte becomes more than one unit, and the last block is written whole.
        let room = self.length + text.len() + size_of::<Block>();
        let mut rest = text;
        if !self.is_wide {
            grow(&mut self.narrow, room);
            rest = self.push_narrow(text, escapes);
        }
        if !rest.is_empty() {
            grow(&mut self.wide, room);
            self.widen();
            self.push_wide(rest, escapes);
        }
    }

    /// Appends up to the first character above U+00FF, and gives what begins with that.
    fn push_narrow<'a>(&mut self, text: &'a [u8], escapes: Escapes) -> &'a [u8] {
        let Self { narrow, length, utf8_length, .. } = self;
        let mut rest = text;
        while !rest.is_empty() {
            let plain =
                copy_plain(rest, narrow.get_mut(*length..).unwrap_or_default(), escapes, |byte| {
                    byte
                });
            *length += plain;
            *utf8_length += plain;
            rest = rest.get(plain..).unwrap_or_default();
            let Some((char, after)) = first_char(rest, escapes) else {
                break;
            };
            let Ok(unit) = u8::try_from(char) else {
                return rest;
            };
            if let Some(place) = narrow.get_mut(*length) {
                *place = unit;
            }
            *length += 1;
            *utf8_length += char.len_utf8();
            rest = after;
        }
        &[]
    }

    fn push_wide(&mut self, text: &[u8], escapes: Escapes) {
        let Self { wide, length, utf8_length, .. } = self;
        let mut rest = text;
        while !rest.is_empty() {
            let plain =
                copy_plain(rest, wide.get_mut(*length..).unwrap_or_default(), escapes, u16::from);
            *length += plain;
            *utf8_length += plain;
            rest = rest.get(plain..).unwrap_or_default();
            let Some((char, after)) = first_char(rest, escapes) else {
                break;
            };
            let mut units = [0; 2];
            for unit in char.encode_utf16(&mut units) {
                if let Some(place) = wide.get_mut(*length) {
                    *place = *unit;
                }
                *length += 1;
            }
            *utf8_length += char.len_utf8();
            rest = after;
        }
    }

    fn widen(&mut self) {
        if !self.is_wide {
            for (wide, narrow) in self.wide.iter_mut().zip(&self.narrow).take(self.length) {
                *wide = u16::from(*narrow);
            }
            self.is_wide = true;
        }
    }
}

fn grow<T: Clone + Default>(units: &mut Vec<T>, length: usize) {
    if units.len() < length {
        units.resize(length.next_power_of_two(), T::default());
    }
}

/// Copies the ASCII at the beginning of `text`, up to an escape, and gives its length. What is behind
/// that in `units` may be overwritten.
#[inline]
fn copy_plain<T: Copy>(
    text: &[u8],
    units: &mut [T],
    escapes: Escapes,
    unit: impl Fn(u8) -> T,
) -> usize {
    let backslash = if escapes == Escapes::Json { b'\\' } else { 0x80 };
    let is_special = |byte: u8| byte == backslash || byte >= 0x80;
    let (mut rest, mut done) = (text, 0);
    while let Some((block, after)) = split_block(rest)
        && let Some(place) = units.get_mut(done..).and_then(<[T]>::first_chunk_mut)
    {
        *place = block.map(&unit);
        if let Some(length) = first_marked(block, is_special) {
            return done + length;
        }
        rest = after;
        done += block.len();
    }
    let free = units.get_mut(done..).unwrap_or_default();
    let tail = rest.iter().zip(free).take_while(|(byte, _)| !is_special(**byte));
    done + tail.map(|(byte, place)| *place = unit(*byte)).count()
}

/// The character at the beginning of what is not plain, and what is behind it. None at the end.
#[inline]
fn first_char(text: &[u8], escapes: Escapes) -> Option<(char, &[u8])> {
    if escapes == Escapes::Json
        && let Some(escape) = text.strip_prefix(b"\\")
    {
        return unescape(escape);
    }
    if let Some((char, length)) = decode(text) {
        return Some((char, text.get(length..)?));
    }
    // No character: as much of it as could have been one (Unicode, "maximal subpart").
    let invalid = text.utf8_chunks().next()?.invalid().len();
    Some((char::REPLACEMENT_CHARACTER, text.get(invalid.max(1)..)?))
}

/// The character at the beginning of UTF-8 that is not ASCII, and how long it is there (RFC 3629,
/// section 3). None where it is none.
#[inline]
fn decode(text: &[u8]) -> Option<(char, usize)> {
    let (first, rest) = text.split_first()?;
    let length = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return None,
    };
    let lead = u32::from(*first) & (0x7F >> length);
    let code = rest.get(..length - 1)?.iter().try_fold(lead, |code, byte| {
        (byte & 0xC0 == 0x80).then(|| code << 6 | u32::from(byte & 0x3F))
    })?;
    // Longer than it need be: "decoding of invalid sequences MUST be prevented".
    let shortest = [0, 0, 0x80, 0x800, 0x1_0000].get(length).copied()?;
    if code < shortest {
        return None;
    }
    Some((char::from_u32(code)?, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(parts: &[&str]) -> Text {
        let mut text = Text::default();
        for part in parts {
            text.push_utf8(part.as_bytes());
        }
        text
    }

    fn read(text: &Text) -> String {
        match text.units() {
            Units::Ascii(bytes) | Units::Latin1(bytes) => {
                bytes.iter().copied().map(char::from).collect()
            }
            Units::Utf16(units) => String::from_utf16(units).unwrap(),
        }
    }

    #[test]
    fn it_is_as_narrow_as_it_can_be() {
        assert_eq!(text(&["abc"]).units(), Units::Ascii(b"abc"));
        assert_eq!(text(&["a", "ÿ"]).units(), Units::Latin1(b"a\xFF"));
        assert_eq!(text(&["aÿ", "Ā"]).units(), Units::Utf16(&[0x61, 0xFF, 0x100]));
    }

    #[test]
    fn a_cleared_text_is_narrow_again() {
        let mut text = text(&["😀"]);
        text.clear();
        text.push_utf8(b"a");
        assert_eq!((text.units(), text.utf8_length()), (Units::Ascii(b"a"), 1));
    }

    proptest! {
        #[test]
        fn it_is_what_was_appended(parts in prop::collection::vec("[a-zé€😀\\PC]{0,40}", 0..8)) {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let text = text(&parts);
            prop_assert_eq!(read(&text), parts.concat());
            prop_assert_eq!(text.utf8_length(), parts.concat().len());
        }

        #[test]
        fn what_is_no_utf_8_becomes_what_the_standard_library_makes_of_it(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select(vec![0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98])],
                0..40,
            ),
        ) {
            let mut text = Text::default();
            text.push_utf8(&bytes);
            prop_assert_eq!(read(&text), String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn escapes_become_what_serde_makes_of_them(string in any::<String>()) {
            let json = serde_json::to_string(&string).unwrap();
            let (json, _) = JsonString::read(json.as_bytes()).unwrap();
            let mut text = Text::default();
            text.push_unescaped(json);
            prop_assert_eq!(read(&text), string);
        }
    }
}
