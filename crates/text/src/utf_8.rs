//! Characters in UTF-8 (RFC 3629, section 3).

use sandpipe_protocol::blocks::split_block;

/// The character at the beginning of what is not ASCII, and what is behind it. None where there is none.
#[expect(clippy::inline_always, reason = "a call for each character takes as long as its work")]
#[inline(always)]
pub(crate) fn decode(text: &[u8]) -> Option<(char, &[u8])> {
    let (code, shortest, behind) = match text {
        [a @ 0xC2..=0xDF, b @ 0x80..=0xBF, behind @ ..] => (join(a & 0x1F, &[*b]), 0x80, behind),
        [a @ 0xE0..=0xEF, b @ 0x80..=0xBF, c @ 0x80..=0xBF, behind @ ..] => {
            (join(a & 0x0F, &[*b, *c]), 0x800, behind)
        }
        [a @ 0xF0..=0xF4, b @ 0x80..=0xBF, c @ 0x80..=0xBF, d @ 0x80..=0xBF, behind @ ..] => {
            (join(a & 0x07, &[*b, *c, *d]), 0x1_0000, behind)
        }
        _ => return None,
    };
    // Longer than it need be: "Implementations MUST protect against decoding invalid sequences".
    if code < shortest {
        return None;
    }
    Some((char::from_u32(code)?, behind))
}

/// The bits of a character's first byte and of those that continue it.
#[expect(clippy::inline_always, reason = "a call for each character takes as long as its work")]
#[inline(always)]
fn join(first: u8, rest: &[u8]) -> u32 {
    rest.iter().fold(u32::from(first), |code, byte| code << 6 | u32::from(byte & 0x3F))
}

/// What stands for the character at the beginning of what is no UTF-8, and what is behind it.
#[cold]
pub(crate) fn replacement(text: &[u8]) -> (char, &[u8]) {
    // As much as could have been one (Unicode, "maximal subpart").
    let invalid = text.utf8_chunks().next().map_or(0, |chunk| chunk.invalid().len());
    (char::REPLACEMENT_CHARACTER, text.get(invalid.max(1)..).unwrap_or_default())
}

/// Four characters of three bytes each at the beginning, as UTF-16, and what is behind them: most of
/// Chinese, Japanese and Korean is such. None where there are others.
#[inline]
pub(crate) fn four_chars(text: &[u8]) -> Option<([u16; 4], &[u8])> {
    // Most often there are none, and this is quicker to find that.
    let [0xE0..=0xEF, _, _, 0xE0..=0xEF, ..] = text else {
        return None;
    };
    let (block, _) = split_block(text)?;
    Some((vector::three_byte_chars(block)?, text.get(12..)?))
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod vector {
    use core::arch::wasm32::{
        i8x16_shuffle, u8x16, u16x8_extract_lane, u16x8_narrow_i32x4, u32x4_eq, u32x4_lt,
        u32x4_shr, u32x4_splat, v128_and, v128_any_true, v128_or, v128_xor,
    };
    use sandpipe_protocol::blocks::Block;

    #[expect(clippy::many_single_char_names, reason = "one for each lane")]
    #[inline]
    pub(super) fn three_byte_chars(block: &Block) -> Option<[u16; 4]> {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = *block;
        let bytes = u8x16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
        let bits = |mask: u32, value| v128_and(value, u32x4_splat(mask));
        // A character in each lane, its last byte lowest.
        let chars = bits(
            0xFF_FF_FF,
            i8x16_shuffle::<2, 1, 0, 0, 5, 4, 3, 3, 8, 7, 6, 6, 11, 10, 9, 9>(bytes, bytes),
        );
        let code = v128_or(
            v128_or(bits(0x3F, chars), bits(0xFC0, u32x4_shr(chars, 2))),
            bits(0xF000, u32x4_shr(chars, 4)),
        );
        let is_other = v128_xor(bits(0xF0_C0_C0, chars), u32x4_splat(0xE0_80_80));
        let is_too_long = u32x4_lt(code, u32x4_splat(0x800));
        let is_surrogate = u32x4_eq(bits(0xF800, code), u32x4_splat(0xD800));
        if v128_any_true(v128_or(v128_or(is_other, is_too_long), is_surrogate)) {
            return None;
        }
        let units = u16x8_narrow_i32x4(code, code);
        Some([
            u16x8_extract_lane::<0>(units),
            u16x8_extract_lane::<1>(units),
            u16x8_extract_lane::<2>(units),
            u16x8_extract_lane::<3>(units),
        ])
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod vector {
    use sandpipe_protocol::blocks::Block;

    pub(super) fn three_byte_chars(block: &Block) -> Option<[u16; 4]> {
        let mut units = [0; 4];
        let mut rest = block.as_slice();
        for unit in &mut units {
            let (char, behind) = super::decode(rest).filter(|(char, _)| char.len_utf8() == 3)?;
            *unit = u16::try_from(u32::from(char)).ok()?;
            rest = behind;
        }
        Some(units)
    }
}
