use encoding_rs::{CoderResult, UTF_8};
use sandpipe_protocol::MAX_EVENT_OUTPUT;

/// Turns the bytes of one stream, cut anywhere, into pieces of text.
///
/// It decodes as the Encoding Standard's "UTF-8 decode without BOM": what is no UTF-8 becomes U+FFFD
/// as `TextDecoder` would do it, a byte order mark is kept, and a character that is cut waits for its
/// rest. A piece is never empty and has at most [`MAX_EVENT_OUTPUT`] bytes.
pub(super) struct Decoder {
    decoder: encoding_rs::Decoder,
    /// Room for a piece, made when the first bytes come: to many streams none ever do.
    text: String,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { decoder: UTF_8.new_decoder_without_bom_handling(), text: String::new() }
    }

    /// Takes the next bytes and hands over the text that they complete.
    pub(super) fn push(&mut self, bytes: &[u8], piece: impl FnMut(&str)) {
        if self.text.is_empty() {
            self.text = "\0".repeat(MAX_EVENT_OUTPUT);
        }
        self.decode(bytes, false, piece);
    }

    /// There are no more bytes: a character that still waits is no character.
    pub(super) fn finish(&mut self, piece: impl FnMut(&str)) {
        if !self.text.is_empty() {
            self.decode(&[], true, piece);
        }
    }

    fn decode(&mut self, bytes: &[u8], last: bool, mut piece: impl FnMut(&str)) {
        let mut rest = bytes;
        loop {
            let (result, read, written, _) = self.decoder.decode_to_str(rest, &mut self.text, last);
            // The decoder writes whole characters only.
            let text = self.text.get(..written).unwrap_or_default();
            if !text.is_empty() {
                piece(text);
            }
            rest = rest.get(read..).unwrap_or_default();
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the chunks, and says what each of them gave and what the end gave.
    fn decode(chunks: &[&[u8]]) -> Vec<Vec<String>> {
        let mut decoder = Decoder::new();
        let mut all = Vec::new();
        for chunk in chunks {
            let mut pieces = Vec::new();
            decoder.push(chunk, |piece| pieces.push(piece.to_owned()));
            all.push(pieces);
        }
        let mut pieces = Vec::new();
        decoder.finish(|piece| pieces.push(piece.to_owned()));
        all.push(pieces);
        all
    }

    #[test]
    fn a_cut_character_waits_for_its_rest() {
        assert_eq!(
            decode(&[b"a\xE2\x82", b"\xACb"]),
            [vec!["a".to_owned()], vec!["\u{20AC}b".to_owned()], vec![]]
        );
    }

    #[test]
    fn a_character_that_never_ends_is_replaced_at_the_end() {
        assert_eq!(decode(&[b"\xF0\x9F"]), [vec![], vec!["\u{FFFD}".to_owned()]]);
    }

    #[test]
    fn what_is_no_utf8_is_replaced_as_textdecoder_does_it() {
        // The maximal subparts of the Encoding Standard: one for each of a surrogate's three bytes.
        let pieces = decode(&[b"\xFFa\xED\xA0\x80b\xE2\x82c\0"]);
        assert_eq!(pieces.concat().concat(), "\u{FFFD}a\u{FFFD}\u{FFFD}\u{FFFD}b\u{FFFD}c\0");
    }

    #[test]
    fn a_byte_order_mark_is_text() {
        let pieces = decode(&[b"\xEF\xBB", b"\xBFx\xEF\xBB\xBF"]);
        assert_eq!(pieces.concat().concat(), "\u{FEFF}x\u{FEFF}");
    }

    #[test]
    fn pieces_have_a_bound_and_whole_characters() {
        for text in ["\u{1F600}".repeat(30_000), "x\u{20AC}".repeat(40_000)] {
            let pieces = decode(&[text.as_bytes()]).concat();
            assert!(pieces.iter().all(|piece| piece.len() <= MAX_EVENT_OUTPUT));
            assert_eq!(pieces.concat(), text);
        }
        // Each invalid byte grows to three.
        let pieces = decode(&[&vec![0xFF; 65_536]]).concat();
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_EVENT_OUTPUT));
        assert_eq!(pieces.concat(), "\u{FFFD}".repeat(65_536));
    }
}
