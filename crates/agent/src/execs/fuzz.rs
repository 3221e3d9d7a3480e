//! What execs are asked for and remembered by, for the fuzz targets.

use super::{record::Record, signal};

/// The record of an exec on disk, written again; None where it can't be read.
#[must_use]
pub fn read_record(json: &[u8]) -> Option<Vec<u8>> {
    let record: Record = serde_json::from_slice(json).ok()?;
    serde_json::to_vec(&record).ok()
}

/// Whether a text names a signal.
#[must_use]
pub fn is_signal(name: &str) -> bool {
    signal::parse(name).is_some()
}
