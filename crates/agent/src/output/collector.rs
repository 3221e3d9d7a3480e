use std::{
    io::{IoSliceMut, Read},
    mem,
    sync::Arc,
};

use sandpipe_protocol::{Characters, OutputType};

use super::{
    blocks::Blocks,
    frame_block::{BlockSize, FrameBlock, MadeFrames},
    spool::Spool,
    timestamp,
};

/// Brings a process's bytes into its spool: makes frames of them, and numbers these over both streams.
pub(crate) struct Collector {
    spool: Arc<Spool>,
    stdout: Characters,
    stderr: Characters,
    block: FrameBlock,
    size: BlockSize,
    blocks: Blocks,
}

impl Collector {
    pub(crate) fn new(spool: Arc<Spool>) -> Self {
        Self {
            spool,
            stdout: Characters::default(),
            stderr: Characters::default(),
            block: FrameBlock::default(),
            size: BlockSize::default(),
            blocks: Blocks::default(),
        }
    }

    /// Where the next bytes are to be read to, in this order.
    pub(crate) fn room(&mut self) -> Vec<IoSliceMut<'_>> {
        if self.block.0.is_empty() {
            self.block = FrameBlock(self.blocks.take(self.size.len()));
        }
        self.block.room()
    }

    /// Takes the first `len` bytes of the room, which were read of that stream. It writes to disk, so it may block.
    pub(crate) fn push(&mut self, kind: OutputType, len: usize) {
        let is_full = len >= self.room().iter().map(|part| part.len()).sum();
        self.append(kind, len);
        if is_full && self.size == BlockSize::Small {
            self.set_size(BlockSize::Large);
        }
    }

    /// The same with bytes that are in memory already.
    pub(crate) fn push_bytes(&mut self, kind: OutputType, mut bytes: &[u8]) {
        // Reading from memory does not fail.
        while let Ok(len @ 1..) = bytes.read_vectored(&mut self.room()) {
            self.push(kind, len);
        }
    }

    /// No bytes come for a while: it takes no memory, nor do readers that could have kept up.
    pub(crate) fn rest(&mut self) {
        self.set_size(BlockSize::Small);
        self.spool.forget_tail();
    }

    /// No more bytes come: a character that waits for its rest is none. It writes to disk, so it may block.
    pub(crate) fn finish(&mut self) {
        for kind in [OutputType::Stdout, OutputType::Stderr] {
            if !self.characters(kind).unfinished().is_empty() {
                self.room();
                self.append(kind, 0);
            }
        }
    }

    fn append(&mut self, kind: OutputType, len: usize) {
        let spool = Arc::clone(&self.spool);
        let mut batch = spool.batch();
        let mut block = mem::take(&mut self.block);
        let characters = self.characters(kind);
        let MadeFrames { place, rest } =
            block.make_frames(kind, len, batch.next_sequence(), timestamp::now().0, characters);
        batch.append(&self.blocks.lend(block.0).slice(place));
        drop(batch);
        self.push_bytes(kind, &rest);
    }

    fn characters(&mut self, kind: OutputType) -> &mut Characters {
        match kind {
            OutputType::Stdout => &mut self.stdout,
            OutputType::Stderr => &mut self.stderr,
        }
    }

    fn set_size(&mut self, size: BlockSize) {
        self.size = size;
        self.block = FrameBlock::default();
        self.blocks = Blocks::default();
    }
}
