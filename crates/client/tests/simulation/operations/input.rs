//! Input for commands.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use sandpipe_client::Result;
use sandpipe_client::execs::{Input, InputSource};

/// Input in pieces.
#[derive(Clone)]
pub(super) struct Pieces {
    pieces: VecDeque<Vec<u8>>,
    /// They come one by one.
    is_stream: bool,
}

impl Pieces {
    /// These bytes, cut anywhere.
    pub(super) fn cut(mut bytes: &[u8], random: &mut fastrand::Rng) -> Self {
        let mut pieces = VecDeque::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(random.usize(..=bytes.len()));
            pieces.push_back(piece.to_vec());
            bytes = rest;
        }
        Self { pieces, is_stream: random.bool() }
    }

    pub(super) fn new(pieces: &[&[u8]], is_stream: bool) -> Self {
        Self { pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), is_stream }
    }

    pub(super) fn with_eof(self) -> Input {
        Input::WithEof(Box::new(self))
    }
}

impl InputSource for Pieces {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>>> {
        Poll::Ready(Ok(self.pieces.pop_front()))
    }

    fn whole(&self) -> Option<Box<dyn InputSource>> {
        (!self.is_stream).then(|| Box::new(self.clone()) as Box<dyn InputSource>)
    }
}
