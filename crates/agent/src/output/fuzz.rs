//! Output and its spools, for the fuzz targets.

use sandpipe_protocol::{Characters, OutputType, frame::Decoder};

use super::{
    frame_block::{BlockSize, FrameBlock},
    text_event::FrameText,
};

pub use super::spool::fuzz::*;

/// The texts of the frames that the chunks of a stream become; a chunk has at most 8,000 bytes.
pub fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut characters = Characters::default();
    let (mut decoder, mut text, mut texts) = (Decoder::default(), FrameText::default(), Vec::new());
    let mut sequence = 1;
    let mut block = FrameBlock(vec![0; BlockSize::Small.len()]);
    let mut take = |chunk: &[u8], characters: &mut Characters| {
        for (place, byte) in block.room().iter_mut().flat_map(|part| part.iter_mut()).zip(chunk) {
            *place = *byte;
        }
        let kind = OutputType::Stdout;
        let frames = block.make_frames(kind, chunk.len(), sequence, 0, characters);
        let frames = block.0.get(frames.place).unwrap_or_default();
        let _ok = decoder.feed(frames, &mut |frame| {
            texts.extend(text.take(frame).map(|event| event.text.into_owned()));
            sequence = frame.sequence + 1;
        });
    };
    for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
        take(chunk, &mut characters);
    }
    take(&[], &mut characters);
    texts
}
