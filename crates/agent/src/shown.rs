//! Text of others on a line of ours, such as the name of a file.

use std::fmt::Write as _;

/// Characters that a terminal acts upon, or that show nothing: controls, ends of lines, marks of direction, zero-width characters, tags.
/// They are the categories Cc, Zl and Zp, the property `Default_Ignorable_Code_Point` (Unicode, `DerivedCoreProperties.txt`), and
/// annotations between lines. `js/cli/format.ts` has the same.
const INVISIBLE: [(char, char); 19] = [
    ('\0', '\x1f'),
    ('\x7f', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns whether a character shows nothing by itself.
pub(crate) fn is_invisible(character: char) -> bool {
    INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// Writes a text as one line in which every character shows.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a string does not fail.
        let _written = match character {
            '\n' => line.write_str("\\n"),
            '\r' => line.write_str("\\r"),
            '\t' => line.write_str("\\t"),
            _ if !is_invisible(character) => line.write_char(character),
            '\0'..='\u{ff}' => write!(line, "\\x{code:02x}"),
            '\u{100}'..='\u{ffff}' => write!(line, "\\u{code:04x}"),
            _ => write!(line, "\\u{{{code:x}}}"),
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_line_shows() {
        for (text, line) in [
            ("plain, é€😀 \\n", "plain, é€😀 \\n"),
            ("a\nnetwork: none\r\t", "a\\nnetwork: none\\r\\t"),
            ("\x1b[2J\x07\x7f\u{9b}", "\\x1b[2J\\x07\\x7f\\x9b"),
            ("\u{202e}gpj\u{200b}\u{61c}", "\\u202egpj\\u200b\\u061c"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(shown(text), line);
        }
    }
}
