//! What requests for files say, for the fuzz targets.

use std::ops::Range;

use super::range::{Part, part};

/// The bytes that a `Range` asks for, of a file of this size; an empty range where there are none of them.
#[must_use]
pub fn range(header: &str, size: u64) -> Range<u64> {
    match part(header, size) {
        Part::Whole => 0..size,
        Part::Bytes(bytes) => bytes,
        Part::Unsatisfiable => size..size,
    }
}
