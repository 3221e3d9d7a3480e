//! What execs are asked for and remembered by, for the fuzz targets.

use super::{index_line, record::ExecRecord, signal};

/// The record of an exec on disk, written again; None where it can't be read.
#[must_use]
pub fn read_record(json: &[u8]) -> Option<Vec<u8>> {
    let record: ExecRecord = serde_json::from_slice(json).ok()?;
    serde_json::to_vec(&record).ok()
}

/// The index of the execs that have ended, written again without the lines that make no sense.
#[must_use]
pub fn read_index(mut file: &[u8]) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    index_line::copy_lines(&mut file, &mut lines, Some).ok()?;
    Some(lines)
}

/// Whether a text names a signal.
#[must_use]
pub fn is_signal(name: &str) -> bool {
    signal::parse(name).is_some()
}
