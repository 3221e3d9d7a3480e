//! Looking at bytes sixteen at a time: as many as a vector register holds.

/// Sixteen bytes.
pub type Block = [u8; 16];

/// The first block, and what is behind it; None where there are fewer bytes.
#[inline]
#[must_use]
pub fn split_block(bytes: &[u8]) -> Option<(&Block, &[u8])> {
    bytes.split_first_chunk()
}

/// The place of the first byte that is marked. `is_marked` should have no branches: it is asked of all
/// bytes at once.
#[inline]
#[must_use]
pub fn first_marked(block: &Block, is_marked: impl Fn(u8) -> bool) -> Option<usize> {
    let marks = block.map(|byte| if is_marked(byte) { 0xFF } else { 0 });
    vector::first_set(marks)
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{i8x16_bitmask, u8x16};

    use super::Block;

    /// The place of the first byte that is not 0, of bytes that are 0 or 0xFF.
    #[expect(clippy::many_single_char_names, reason = "one for each lane")]
    #[inline]
    pub(super) fn first_set(marks: Block) -> Option<usize> {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = marks;
        let mask = i8x16_bitmask(u8x16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p));
        (mask != 0).then(|| mask.trailing_zeros() as usize)
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod vector {
    use super::Block;

    /// The place of the first byte that is not 0, of bytes that are 0 or 0xFF.
    #[inline]
    pub(super) fn first_set(marks: Block) -> Option<usize> {
        let mask = u128::from_le_bytes(marks);
        (mask != 0).then(|| mask.trailing_zeros() as usize / 8)
    }
}
