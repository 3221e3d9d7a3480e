//! Output and its spools, for the fuzz targets.

use super::decoder::Decoder;

pub use super::spool::fuzz::*;

/// The pieces of text that the chunks of a stream become.
pub fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = Decoder::new();
    let mut pieces = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, |piece| pieces.push(piece.to_owned()));
    }
    decoder.finish(|piece| pieces.push(piece.to_owned()));
    pieces
}
