//! Where a command's input comes from.

use std::future::poll_fn;
use std::mem;
use std::task::{Context, Poll};

use crate::{Agent, Error, Feature, Result};

/// What a command reads from its standard input.
pub enum Input {
    /// All that a source gives, and then end-of-file.
    WithEof(Box<dyn InputSource>),
    /// No end comes after it: the command knows where to stop.
    Open(String),
}

/// Gives input piece by piece, the next when the process has taken the one before. Dropping it ends what it comes from.
pub trait InputSource {
    /// The next piece, of at most [`MAX_STDIN_CHUNK_BYTES`](super::MAX_STDIN_CHUNK_BYTES) bytes; None at the end, which is final.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>>>;

    /// A source of the same from its beginning on, where all of it is there already.
    fn whole(&self) -> Option<Box<dyn InputSource>> {
        None
    }
}

/// The next piece that is not empty.
pub(crate) async fn next_piece(source: &mut dyn InputSource) -> Result<Option<Vec<u8>>> {
    loop {
        let piece = poll_fn(|context| source.poll_next(context)).await?;
        if piece.as_ref().is_none_or(|piece| !piece.is_empty()) {
            return Ok(piece);
        }
    }
}

/// How the agent takes input.
pub(super) enum StdinEncoding {
    /// As it is: the extension `stdin-bytes`.
    Bytes,
    /// As JSON, which can hold text alone.
    Text(Utf8Pieces),
}

impl StdinEncoding {
    /// How the agent takes what a source gives.
    ///
    /// # Errors
    /// It takes text alone, and it can be seen now that this is none.
    pub(super) async fn of(agent: &Agent, source: &dyn InputSource) -> Result<Self> {
        if agent.offers(Feature::StdinBytes).await? {
            return Ok(Self::Bytes);
        }
        if let Some(mut source) = source.whole() {
            let mut pieces = Utf8Pieces::default();
            while let Some(piece) = next_piece(&mut *source).await? {
                pieces.decode(piece).ok_or_else(not_text)?;
            }
            if !pieces.is_whole() {
                return Err(not_text());
            }
        }
        Ok(Self::Text(Utf8Pieces::default()))
    }

    /// Says whether the input may end here.
    pub(super) fn end(&self) -> Result<()> {
        match self {
            Self::Text(pieces) if !pieces.is_whole() => Err(not_text()),
            Self::Bytes | Self::Text(_) => Ok(()),
        }
    }
}

/// Makes text of bytes that may be cut anywhere.
#[derive(Default)]
pub(crate) struct Utf8Pieces {
    /// The beginning of a character.
    rest: Vec<u8>,
}

impl Utf8Pieces {
    /// The whole characters of what has come; None where it is not UTF-8.
    pub(crate) fn decode(&mut self, piece: Vec<u8>) -> Option<String> {
        let mut bytes = mem::take(&mut self.rest);
        bytes.extend(piece);
        let error = match String::from_utf8(bytes) {
            Ok(text) => return Some(text),
            Err(error) => error,
        };
        let (whole, is_wrong) =
            (error.utf8_error().valid_up_to(), error.utf8_error().error_len().is_some());
        if is_wrong {
            return None;
        }
        let mut bytes = error.into_bytes();
        self.rest = bytes.split_off(whole);
        String::from_utf8(bytes).ok()
    }

    /// Whether no character is cut.
    pub(crate) fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }
}

pub(super) fn not_text() -> Box<Error> {
    let what = "input that is not UTF-8 text";
    Box::new(Error::Unsupported { feature: Feature::StdinBytes.name(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_put_together_wherever_they_are_cut_and_nothing_else_is_text() {
        let decode = |pieces: &[&[u8]]| -> Option<String> {
            let mut utf8 = Utf8Pieces::default();
            let texts: Option<Vec<_>> =
                pieces.iter().map(|piece| utf8.decode(piece.to_vec())).collect();
            let text = texts?.concat();
            utf8.is_whole().then_some(text)
        };
        let text = "a€😀é";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let bytes = text.as_bytes();
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(decode(&pieces).as_deref(), Some(text));
            }
        }
        for wrong in [[b"" as &[u8], b"\xFF"], [b"\xE2\x82", b"x"], [b"a", b"\xE2\x82"]] {
            assert_eq!(decode(&wrong), None);
        }
    }
}
