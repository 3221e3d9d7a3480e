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

    fn decode(bytes: &[u8]) -> Vec<String> {
        let mut decoder = Decoder::new();
        let mut pieces = Vec::new();
        decoder.push(bytes, |piece| pieces.push(piece.to_owned()));
        decoder.finish(|piece| pieces.push(piece.to_owned()));
        pieces
    }

    // What the text is, the fuzz target `utf-8` shows.
    #[test]
    fn pieces_have_a_bound_and_whole_characters() {
        for text in ["\u{1F600}".repeat(30_000), "x\u{20AC}".repeat(40_000)] {
            let pieces = decode(text.as_bytes());
            assert!(pieces.iter().all(|piece| piece.len() <= MAX_EVENT_OUTPUT));
            assert_eq!(pieces.concat(), text);
        }
        // Each invalid byte grows to three.
        let pieces = decode(&vec![0xFF; 65_536]);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_EVENT_OUTPUT));
        assert_eq!(pieces.concat(), "\u{FFFD}".repeat(65_536));
    }
}
