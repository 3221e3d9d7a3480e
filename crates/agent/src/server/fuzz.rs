//! Answers of the server's own, for the fuzz targets.

/// The answer that takes the place of one that the HTTP server gives by itself.
#[must_use]
pub fn refusal(bare: &[u8]) -> Option<Vec<u8>> {
    super::refusal::refusal(bare)
}
