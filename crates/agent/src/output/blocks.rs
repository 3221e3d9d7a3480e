use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;

/// Where a block goes when nobody uses it.
type BlockSlot = Mutex<Option<Vec<u8>>>;

/// The block of memory that output is read into, again and again: a new one each time would be the
/// system's, with a fault for each of its pages.
///
/// While an answer still has it another is taken; one is kept.
#[derive(Debug, Default)]
pub(super) struct Blocks(Arc<BlockSlot>);

/// A block on loan. It goes back when it is dropped, unless none is kept any more.
struct LentBlock {
    block: Vec<u8>,
    slot: Weak<BlockSlot>,
}

impl Blocks {
    /// Takes the block that is kept, or a new one. Its content means nothing.
    pub(super) fn take(&self, len: usize) -> Vec<u8> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(|block| block.len() == len).unwrap_or_else(|| vec![0; len])
    }

    /// Makes a block the bytes of an answer, after which it is used again.
    pub(super) fn lend(&self, block: Vec<u8>) -> Bytes {
        Bytes::from_owner(LentBlock { block, slot: Arc::downgrade(&self.0) })
    }

    /// Keeps none, neither that which is there nor those on loan: who waits takes no memory.
    pub(super) fn release(&mut self) {
        self.0 = Arc::default();
    }
}

impl AsRef<[u8]> for LentBlock {
    fn as_ref(&self) -> &[u8] {
        &self.block
    }
}

impl Drop for LentBlock {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.upgrade() {
            let block = std::mem::take(&mut self.block);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_used_again_once_nobody_reads_it() {
        let blocks = Blocks::default();
        let first = blocks.take(8);
        let address = first.as_ptr();
        let bytes = blocks.lend(first);
        let part = bytes.slice(2..4);
        drop(bytes);
        let second = blocks.take(8);
        assert_ne!(second.as_ptr(), address, "a part of the first is still read");
        drop(part);
        let third = blocks.take(8);
        assert_eq!(third.as_ptr(), address);
    }

    #[test]
    fn no_block_is_kept_by_who_waits() {
        let mut blocks = Blocks::default();
        let [kept, lent] = [8, 8].map(|len| vec![0; len]);
        drop(blocks.lend(kept));
        let lent = blocks.lend(lent);
        blocks.release();
        drop(lent);
        assert!(blocks.0.lock().unwrap().is_none());
    }
}
