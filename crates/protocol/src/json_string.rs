//! A string as it lies in JSON (RFC 8259, section 7).

use crate::blocks::{first_marked, split_block};

/// The inside of a JSON string, escapes and all: its syntax is known to be right. What is no UTF-8 in
/// it stands for U+FFFD, as [`String::from_utf8_lossy`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonString<'a>(&'a [u8]);

impl<'a> JsonString<'a> {
    /// Reads a string at the beginning of `json`; also returns what is behind it. None stands for what is
    /// no string, and for one with half of a surrogate pair in an escape, even if the other half
    /// follows.
    #[must_use]
    pub fn read(json: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let inside = json.strip_prefix(b"\"")?;
        let mut rest = inside;
        loop {
            let (special, after) = rest.get(plain_length(rest)..)?.split_first()?;
            match special {
                b'"' => {
                    let text = inside.get(..inside.len() - after.len() - 1)?;
                    return Some((Self(text), after));
                }
                b'\\' => rest = unescape(after)?.1,
                // "All Unicode characters may be placed within the quotation marks, except for the
                // characters that MUST be escaped".
                _ => return None,
            }
        }
    }

    /// The text, if it has no escapes.
    #[must_use]
    pub fn plain(self) -> Option<&'a str> {
        std::str::from_utf8(self.0).ok().filter(|text| !text.contains('\\'))
    }

    /// The text with its escapes.
    #[must_use]
    pub fn escaped(self) -> &'a [u8] {
        self.0
    }
}

impl From<JsonString<'_>> for String {
    fn from(string: JsonString<'_>) -> Self {
        let mut text = Self::new();
        let mut rest = string.0;
        while let Some(place) = memchr::memchr(b'\\', rest) {
            let (plain, escape) = rest.split_at_checked(place).unwrap_or((rest, &[]));
            text.push_str(&Self::from_utf8_lossy(plain));
            let Some((char, behind)) = escape.get(1..).and_then(unescape) else {
                return text;
            };
            text.push(char);
            rest = behind;
        }
        text.push_str(&Self::from_utf8_lossy(rest));
        text
    }
}

/// Reads what is behind a backslash: the character that it stands for, and what is behind that.
#[expect(clippy::inline_always, reason = "a call for each escape takes as long as its work")]
#[inline(always)]
#[must_use]
pub fn unescape(text: &[u8]) -> Option<(char, &[u8])> {
    if let Some((ascii, after)) = unescape_short(text) {
        return Some((ascii.into(), after));
    }
    let (digits, after) = text.strip_prefix(b"u")?.split_first_chunk()?;
    Some((char::from_u32(hexadecimal(*digits)?)?, after))
}

/// The same of an escape that is one letter: all of these stand for ASCII.
#[expect(clippy::inline_always, reason = "a call for each escape takes as long as its work")]
#[inline(always)]
#[must_use]
pub fn unescape_short(text: &[u8]) -> Option<(u8, &[u8])> {
    let (letter, after) = text.split_first()?;
    // A table: which letter comes next can't be foretold, and no branch hangs on it.
    let ascii = *SHORT.get(usize::from(*letter))?;
    (ascii != 0).then_some((ascii, after))
}

/// What each letter behind a backslash stands for; 0 where it stands for nothing by itself.
#[expect(clippy::indexing_slicing, reason = "a wrong index is an error of the build")]
const SHORT: [u8; 256] = {
    let mut short = [0; 256];
    let pairs = *b"n\nr\rt\tb\x08f\x0C\"\"\\\\//";
    let mut i = 0;
    while i < pairs.len() {
        short[pairs[i] as usize] = pairs[i + 1];
        i += 2;
    }
    short
};

/// The number that four hexadecimal digits are.
#[inline]
pub(crate) fn hexadecimal(digits: [u8; 4]) -> Option<u32> {
    // What is wrong is looked at once, in the end.
    let value = |digit| DIGITS.get(usize::from(digit)).copied().unwrap_or(NO_DIGIT);
    let [a, b, c, d] = digits.map(value);
    let code = u32::from(a) << 12 | u32::from(b) << 8 | u32::from(c) << 4 | u32::from(d);
    ((a | b | c | d) & NO_DIGIT == 0).then_some(code)
}

const NO_DIGIT: u8 = 0xF0;

/// The value of each byte as a hexadecimal digit.
#[expect(clippy::indexing_slicing, reason = "a wrong index is an error of the build")]
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value: u8 = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

/// Appends `text` as the inside of a JSON string, with an escape for what must have one and the short one
/// where there is one.
pub fn escape(json: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let (plain, from_special) =
            rest.split_at_checked(plain_length(rest)).unwrap_or((rest, &[]));
        json.extend_from_slice(plain);
        let Some((special, after)) = from_special.split_first() else {
            return;
        };
        let short = match special {
            b'"' => b'"',
            b'\\' => b'\\',
            0x8 => b'b',
            0xC => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => b'u',
        };
        json.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            json.extend_from_slice(&[b'0', b'0', digit(special >> 4), digit(special & 0xF)]);
        }
        rest = after;
    }
}

/// How many bytes at the beginning are no quote, backslash or control character.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    // A quote, a backslash, or below 0x20: three times 0, and without a branch.
    let is_special = |byte: u8| (byte ^ b'"').min(byte ^ b'\\').min(byte & 0xE0) == 0;
    let mut rest = bytes;
    while let Some((block, after)) = split_block(rest) {
        if let Some(place) = first_marked(block, is_special) {
            return bytes.len() - rest.len() + place;
        }
        rest = after;
    }
    let tail = rest.iter().take_while(|byte| !is_special(**byte)).count();
    bytes.len() - rest.len() + tail
}
