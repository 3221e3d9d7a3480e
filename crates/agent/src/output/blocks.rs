use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use bytes::Bytes;

/// The most blocks that are kept: one that is read into, one that waits for who sends it, one that is being sent.
const MAX: usize = 3;

/// Where blocks go when nobody uses them.
type BlockStore = Mutex<Vec<Vec<u8>>>;

/// Blocks of memory that output is read into, again and again: a new one each time would be the
/// system's, with a fault for each of its pages.
///
/// While an answer still has them others are taken; some are kept.
#[derive(Debug, Default)]
pub(super) struct Blocks(Arc<BlockStore>);

/// A block on loan. It goes back when it is dropped, unless none are kept any more.
struct LentBlock {
    block: Vec<u8>,
    store: Weak<BlockStore>,
}

impl Blocks {
    /// Takes a block that is kept, or a new one. Its content means nothing.
    pub(super) fn take(&self, len: usize) -> Vec<u8> {
        let kept = lock(&self.0).pop();
        kept.filter(|block| block.len() == len).unwrap_or_else(|| vec![0; len])
    }

    /// The same, empty and with as much room as it happens to have.
    pub(super) fn take_empty(&self) -> Vec<u8> {
        let mut kept = lock(&self.0).pop().unwrap_or_default();
        kept.clear();
        kept
    }

    /// Makes a block the bytes of an answer, after which it is used again.
    pub(super) fn lend(&self, block: Vec<u8>) -> Bytes {
        Bytes::from_owner(LentBlock { block, store: Arc::downgrade(&self.0) })
    }

    /// Keeps none, neither those that are there nor those on loan: who waits takes no memory.
    pub(super) fn release(&mut self) {
        self.0 = Arc::default();
    }
}

fn lock(store: &BlockStore) -> MutexGuard<'_, Vec<Vec<u8>>> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsRef<[u8]> for LentBlock {
    fn as_ref(&self) -> &[u8] {
        &self.block
    }
}

impl Drop for LentBlock {
    fn drop(&mut self) {
        if let Some(store) = self.store.upgrade() {
            let mut kept = lock(&store);
            if kept.len() < MAX {
                kept.push(mem::take(&mut self.block));
            }
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
        assert!(lock(&blocks.0).is_empty());
    }
}
