//! Characters of a stream of UTF-8 that is cut anywhere.

/// The characters of one stream: keeps the bytes of one whose rest has not come yet.
///
/// Put together and read as UTF-8, with U+FFFD for each maximal subpart of what is none, the [`Part`]s of a stream are what
/// "UTF-8 decode without BOM" of the Encoding Standard makes of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Characters {
    unfinished: Unfinished,
}

/// The first bytes of a character, which are fewer than all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unfinished {
    bytes: [u8; 4],
    len: usize,
}

/// What the next bytes of a stream complete: no character goes on behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part<'a> {
    start: Unfinished,
    /// What follows [`Part::start`].
    pub rest: &'a [u8],
}

impl<'a> Part<'a> {
    /// What begins and ends between characters.
    #[must_use]
    pub fn of_whole(text: &'a [u8]) -> Self {
        Self { rest: text, ..Self::default() }
    }

    /// A character that began in earlier bytes, or what there is of it; often nothing.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        self.start.bytes()
    }

    /// The text of it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from_utf8_lossy(self.start()).into_owned();
        text.push_str(&String::from_utf8_lossy(self.rest));
        text
    }
}

impl Characters {
    /// Goes on within a character that began with these bytes, whatever came before; at most 3 are one's.
    pub fn resume(&mut self, unfinished: &[u8]) {
        self.unfinished = Unfinished::default();
        for byte in unfinished.iter().take(3) {
            self.unfinished.push(*byte);
        }
    }

    /// The first bytes of the character that the stream has not finished; none between two.
    #[must_use]
    pub fn unfinished(&self) -> &[u8] {
        self.unfinished.bytes()
    }

    /// Takes the next bytes. None of them says that no more come: what is unfinished is no character then.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Part<'a> {
        let mut start = std::mem::take(&mut self.unfinished);
        if bytes.is_empty() {
            return Part { start, rest: bytes };
        }
        let mut rest = bytes;
        while !start.is_whole()
            && let Some((byte, behind)) = rest.split_first()
            && start.goes_on_with(*byte)
        {
            start.push(*byte);
            rest = behind;
        }
        if rest.is_empty() && !start.is_whole() {
            self.unfinished = start;
            return Part::default();
        }
        let (whole, unfinished) = rest.split_at(rest.len() - unfinished_len(rest));
        self.resume(unfinished);
        Part { start, rest: whole }
    }
}

impl Unfinished {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Nothing is missing; so it is if there is nothing.
    fn is_whole(&self) -> bool {
        std::str::from_utf8(self.bytes()).is_ok()
    }

    fn goes_on_with(mut self, byte: u8) -> bool {
        self.push(byte);
        self.is_whole() || is_unfinished(self.bytes())
    }
}

/// How many bytes at the end are the beginning of a character.
fn unfinished_len(bytes: &[u8]) -> usize {
    // Most often the last one is ASCII.
    if bytes.last().is_none_or(u8::is_ascii) {
        return 0;
    }
    let tails = (1..=bytes.len().min(3)).map(|len| bytes.split_at(bytes.len() - len).1);
    tails.filter(|tail| is_unfinished(tail)).map(<[u8]>::len).next().unwrap_or(0)
}

/// Whether these are the first bytes of a character, and not all of it.
fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_of<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut characters = Characters::default();
        let mut text = String::new();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            text += &characters.next(chunk).to_text();
        }
        text + &characters.next(&[]).to_text()
    }

    #[test]
    fn a_character_waits_for_its_rest() {
        let mut characters = Characters::default();
        assert_eq!(characters.next(b"a\xE2").to_text(), "a");
        assert_eq!(characters.unfinished(), b"\xE2");
        assert_eq!(characters.next(b"\x82").to_text(), "");
        assert_eq!(characters.next(b"\xACb").to_text(), "€b");
        assert_eq!(characters.unfinished(), b"");
    }

    #[test]
    fn it_goes_on_from_what_another_knew() {
        let mut characters = Characters::default();
        characters.resume(b"\xF0\x9F");
        assert_eq!(characters.next(b"\x98\x80").to_text(), "😀");
    }

    proptest! {
        #[test]
        fn it_is_what_the_standard_library_makes_of_the_whole(
            bytes in prop::collection::vec(
                prop_oneof![
                    any::<u8>(),
                    prop::sample::select(vec![b'a', 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xA0, 0xC2]),
                ],
                0..40,
            ),
            size in 1_usize..12,
        ) {
            prop_assert_eq!(text_of(bytes.chunks(size)), String::from_utf8_lossy(&bytes));
        }
    }
}
