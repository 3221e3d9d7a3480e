//! Text as JavaScript keeps it: Latin-1 as long as that will do, else UTF-16.
//!
//! A [`Text`] grows by UTF-8 or by the strings of JSON, and has its [`Units`], of which the host makes a JavaScript string: without a UTF-8
//! decoder, which takes longer than all else that is done with output.

mod utf_8;

use sandpipe_protocol::Part;
use sandpipe_protocol::blocks::{Block, first_marked, split_block};
use sandpipe_protocol::json_string::{unescape, unescape_short};

/// A text that grows. Its memory serves the next text when it is cleared.
#[derive(Debug, Default)]
pub struct Text {
    /// Room for code units, of which the first `length` are the text's.
    narrow: Vec<u8>,
    /// In place of `narrow`, once there was a character above U+00FF.
    wide: Vec<u16>,
    is_wide: bool,
    end: Length,
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

impl Units<'_> {
    /// How many there are.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            Self::Ascii(bytes) | Self::Latin1(bytes) => bytes.len(),
            Self::Utf16(units) => units.len(),
        }
    }
}

/// How much of a text there is.
#[derive(Clone, Copy, Debug, Default)]
struct Length {
    units: usize,
    utf8: usize,
}

impl Text {
    /// Makes it empty, and narrow again.
    pub fn clear(&mut self) {
        self.is_wide = false;
        self.end = Length::default();
    }

    /// Whether it has no code units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end.units == 0
    }

    /// How many code units it has.
    #[must_use]
    pub fn length(&self) -> usize {
        self.end.units
    }

    /// How many bytes of UTF-8 it would be.
    #[must_use]
    pub fn utf8_length(&self) -> usize {
        self.end.utf8
    }

    /// Takes off what is behind the last whole character with which it is at most `max` bytes of UTF-8.
    pub fn truncate_utf8(&mut self, max: usize) {
        self.end = match self.units() {
            Units::Ascii(bytes) => whole_characters(bytes.iter().map(|_| (1, 1)), max),
            Units::Latin1(bytes) => {
                let sizes = bytes.iter().map(|byte| (1, if byte.is_ascii() { 1 } else { 2 }));
                whole_characters(sizes, max)
            }
            Units::Utf16(units) => {
                let characters = char::decode_utf16(units.iter().copied())
                    .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER));
                let sizes =
                    characters.map(|character| (character.len_utf16(), character.len_utf8()));
                whole_characters(sizes, max)
            }
        };
    }

    /// Its code units.
    #[must_use]
    pub fn units(&self) -> Units<'_> {
        let Length { units: length, utf8: utf8_length } = self.end;
        if self.is_wide {
            return Units::Utf16(self.wide.get(..length).unwrap_or_default());
        }
        let units = self.narrow.get(..length).unwrap_or_default();
        if length == utf8_length { Units::Ascii(units) } else { Units::Latin1(units) }
    }

    /// Appends what the JSON string at the beginning of `json` stands for (RFC 8259, section 7), and
    /// returns what is behind it. What is no UTF-8 in it becomes U+FFFD.
    ///
    /// None stands for what is no string, and for one with half of a surrogate pair in an escape, even
    /// if the other half follows: nothing is appended then.
    pub fn push_string<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        let before = self.end;
        let behind = json.strip_prefix(b"\"").and_then(|inside| self.push::<true>(inside));
        if behind.is_none() {
            self.end = before;
        }
        behind
    }

    /// Appends UTF-8; what is none becomes U+FFFD.
    pub fn push_utf8(&mut self, text: &[u8]) {
        self.push::<false>(text);
    }

    /// Appends characters of a stream of UTF-8; what is none becomes U+FFFD.
    pub fn push_part(&mut self, part: Part<'_>) {
        self.push_utf8(part.start());
        self.push_utf8(part.rest);
    }

    /// Appends another text.
    pub fn push_text(&mut self, text: &Self) {
        let room = self.end.units + text.end.units;
        match text.units() {
            Units::Ascii(more) | Units::Latin1(more) if !self.is_wide => {
                grow(&mut self.narrow, room);
                copy_units(more, &mut self.narrow, self.end.units, |unit| unit);
            }
            Units::Ascii(more) | Units::Latin1(more) => {
                grow(&mut self.wide, room);
                copy_units(more, &mut self.wide, self.end.units, u16::from);
            }
            Units::Utf16(more) => {
                if !self.is_wide {
                    self.widen(room);
                }
                grow(&mut self.wide, room);
                copy_units(more, &mut self.wide, self.end.units, |unit| unit);
            }
        }
        self.end = Length { units: room, utf8: self.end.utf8 + text.end.utf8 };
    }

    /// Appends up to the end, or the closing quote if it is `JSON`; returns what is behind that.
    fn push<'a, const JSON: bool>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        // No byte becomes more than one unit, and the last block is written whole.
        let room = self.end.units + text.len() + size_of::<Block>();
        let mut rest = text;
        if !self.is_wide {
            grow(&mut self.narrow, room);
            match copy::<u8, JSON>(rest, &mut self.narrow, &mut self.end) {
                Stop::End(behind) => return Some(behind),
                Stop::Wrong => return None,
                Stop::Wider(from) => rest = from,
            }
            self.widen(room);
        }
        grow(&mut self.wide, room);
        match copy::<u16, JSON>(rest, &mut self.wide, &mut self.end) {
            Stop::End(behind) => Some(behind),
            Stop::Wrong | Stop::Wider(_) => None,
        }
    }

    fn widen(&mut self, room: usize) {
        grow(&mut self.wide, room);
        for (wide, narrow) in self.wide.iter_mut().zip(&self.narrow).take(self.end.units) {
            *wide = u16::from(*narrow);
        }
        self.is_wide = true;
    }
}

/// Memory is taken in so many units: a text seldom grows beyond what it has grown to before.
const STEP: usize = 64 * 1024;

fn grow<T: Clone + Default>(units: &mut Vec<T>, length: usize) {
    if units.len() < length {
        let length = length.next_multiple_of(STEP);
        units.reserve_exact(length - units.len());
        units.resize(length, T::default());
    }
}

/// Copies units to others from a place on.
fn copy_units<T: Copy, U>(from: &[T], to: &mut [U], place: usize, convert: impl Fn(T) -> U) {
    for (unit, place) in from.iter().zip(to.get_mut(place..).unwrap_or_default()) {
        *place = convert(*unit);
    }
}

/// A code unit.
trait Unit: Copy {
    fn of_ascii(byte: u8) -> Self;

    /// The one or two units of a character; none where it has none.
    fn encode(char: char) -> Option<(Self, Option<Self>)>;

    /// Copies characters of three bytes from the beginning of `text`, as long as it has several, and returns
    /// their number.
    fn copy_three_byte_chars(_text: &[u8], _units: &mut [Self]) -> usize {
        0
    }
}

impl Unit for u8 {
    fn of_ascii(byte: u8) -> Self {
        byte
    }

    fn encode(char: char) -> Option<(Self, Option<Self>)> {
        Some((Self::try_from(char).ok()?, None))
    }
}

impl Unit for u16 {
    fn of_ascii(byte: u8) -> Self {
        Self::from(byte)
    }

    fn encode(char: char) -> Option<(Self, Option<Self>)> {
        let mut units = [0; 2];
        let is_pair = char.encode_utf16(&mut units).len() > 1;
        let [first, second] = units;
        Some((first, is_pair.then_some(second)))
    }

    #[inline]
    fn copy_three_byte_chars(text: &[u8], units: &mut [Self]) -> usize {
        let (mut rest, mut done) = (text, 0);
        while let Some((chars, behind)) = utf_8::four_chars(rest)
            && let Some(place) = units.get_mut(done..).and_then(<[Self]>::first_chunk_mut)
        {
            *place = chars;
            rest = behind;
            done += chars.len();
        }
        done
    }
}

/// Where copying came to an end.
enum Stop<'a> {
    /// All has been copied; this is behind the closing quote.
    End(&'a [u8]),
    /// This begins with a character that the units are too narrow for.
    Wider(&'a [u8]),
    /// It is no JSON string.
    Wrong,
}

/// Copies text to `units`, from `end` on.
fn copy<'a, T: Unit, const JSON: bool>(
    text: &'a [u8],
    units: &mut [T],
    end: &mut Length,
) -> Stop<'a> {
    let mut rest = text;
    let Length { units: mut length, utf8: mut utf8_length } = *end;
    let stop = loop {
        if let [..0x80, ..] = rest {
            let free = units.get_mut(length..).unwrap_or_default();
            let plain = copy_plain::<T, JSON>(rest, free);
            length += plain;
            utf8_length += plain;
            rest = rest.get(plain..).unwrap_or_default();
        }
        // Most of what does not stand for itself.
        if JSON
            && let [b'\\', escape @ ..] = rest
            && let Some((ascii, behind)) = unescape_short(escape)
            && let Some(place) = units.get_mut(length)
        {
            *place = T::of_ascii(ascii);
            length += 1;
            utf8_length += 1;
            rest = behind;
            continue;
        }
        match special::<JSON>(rest) {
            Special::Char(char, behind) => {
                let free = units.get_mut(length..).unwrap_or_default();
                let Some((first, second)) = T::encode(char) else {
                    break Stop::Wider(rest);
                };
                for (unit, place) in [Some(first), second].into_iter().flatten().zip(free) {
                    *place = unit;
                    length += 1;
                }
                utf8_length += char.len_utf8();
                rest = behind;
            }
            Special::End(behind) => break Stop::End(behind),
            Special::Wrong => break Stop::Wrong,
        }
        let free = units.get_mut(length..).unwrap_or_default();
        let three_byte_chars = T::copy_three_byte_chars(rest, free);
        length += three_byte_chars;
        utf8_length += 3 * three_byte_chars;
        rest = rest.get(3 * three_byte_chars..).unwrap_or_default();
    };
    *end = Length { units: length, utf8: utf8_length };
    stop
}

/// What text begins with that does not stand for itself.
enum Special<'a> {
    /// A character, and what is behind it.
    Char(char, &'a [u8]),
    /// The end, which this is behind.
    End(&'a [u8]),
    /// What no JSON string has.
    Wrong,
}

#[expect(clippy::inline_always, reason = "a call for each character takes as long as its work")]
#[inline(always)]
fn special<const JSON: bool>(text: &[u8]) -> Special<'_> {
    match text {
        [0x80..=0xFF, ..] => {
            let (char, behind) = utf_8::decode(text).unwrap_or_else(|| utf_8::replacement(text));
            Special::Char(char, behind)
        }
        [b'\\', escape @ ..] if JSON => match unescape(escape) {
            Some((char, behind)) => Special::Char(char, behind),
            None => Special::Wrong,
        },
        [b'"', behind @ ..] if JSON => Special::End(behind),
        [] if !JSON => Special::End(text),
        // "All Unicode characters may be placed within the quotation marks, except for the characters
        // that MUST be escaped".
        _ => Special::Wrong,
    }
}

/// Copies what stands for itself at the beginning of `text`, and returns its length. What is behind that
/// in `units` may be overwritten.
#[inline]
fn copy_plain<T: Unit, const JSON: bool>(text: &[u8], units: &mut [T]) -> usize {
    // Below 0x20 as a signed number: a control character, or not ASCII. Without branches, so that all of
    // a block is asked at once.
    #[expect(clippy::needless_bitwise_bool)]
    let is_special = |byte: u8| {
        if JSON {
            (byte.cast_signed() < 0x20) | (byte == b'"') | (byte == b'\\')
        } else {
            byte >= 0x80
        }
    };
    let (mut rest, mut done) = (text, 0);
    while let Some((block, after)) = split_block(rest)
        && let Some(place) = units.get_mut(done..).and_then(<[T]>::first_chunk_mut)
    {
        *place = block.map(T::of_ascii);
        if let Some(length) = first_marked(block, is_special) {
            return done + length;
        }
        rest = after;
        done += block.len();
    }
    let free = units.get_mut(done..).unwrap_or_default();
    let tail = rest.iter().zip(free).take_while(|(byte, _)| !is_special(**byte));
    done + tail.map(|(byte, place)| *place = T::of_ascii(*byte)).count()
}

/// How much of a text are the characters that fit into `max` bytes of UTF-8. Each has a size in units and in bytes.
fn whole_characters(sizes: impl Iterator<Item = (usize, usize)>, max: usize) -> Length {
    let mut end = Length::default();
    for (units, bytes) in sizes {
        if end.utf8 + bytes > max {
            break;
        }
        end.units += units;
        end.utf8 += bytes;
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sandpipe_protocol::json_string::JsonString;

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
        fn it_is_cut_behind_the_last_character_that_fits(string in "[a-z]{0,20}|[a-zé]{0,20}|[a-zé€😀]{0,20}", max in 0_usize..60) {
            let mut text = text(&[&string]);
            text.truncate_utf8(max);
            let (fitting, _) = string.split_at(string.floor_char_boundary(max));
            prop_assert_eq!(read(&text), fitting);
            prop_assert_eq!(text.utf8_length(), fitting.len());
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
            let mut text = text(&["é"]);
            let behind = text.push_string(format!("{json},…").as_bytes()).map(<[u8]>::to_vec);
            prop_assert_eq!(behind.as_deref(), Some(",…".as_bytes()));
            prop_assert_eq!(read(&text), format!("é{string}"));
        }

        #[test]
        fn it_takes_what_the_protocol_takes_for_a_string(
            inside in "(\\\\[\"\\\\/bfnrtux0]|\\\\u[0-9a-fA-F]{3,4}|[\\x00-\\x7fé€😀\"]){0,40}\"?.{0,3}",
        ) {
            let json = format!("\"{inside}");
            let mut text = text(&["é"]);
            let behind = text.push_string(json.as_bytes());
            let expected = JsonString::read(json.as_bytes());
            prop_assert_eq!(behind, expected.map(|(_, behind)| behind));
            let string = expected.map(|(string, _)| String::from(string)).unwrap_or_default();
            prop_assert_eq!(text.utf8_length(), "é".len() + string.len());
            prop_assert_eq!(read(&text), format!("é{string}"));
        }

        #[test]
        fn a_text_is_appended_as_its_characters_are(parts in prop::collection::vec("[a-z]{0,9}|[a-zé]{0,9}|[a-z€😀]{0,9}", 0..8)) {
            let mut whole = Text::default();
            for part in &parts {
                whole.push_text(&text(&[part]));
            }
            prop_assert_eq!(read(&whole), parts.concat());
            prop_assert_eq!(whole.utf8_length(), parts.concat().len());
            let at_once = text(&[&parts.concat()]);
            prop_assert_eq!(whole.units(), at_once.units());
        }
    }
}
