//! What is in the index of the execs that have ended, line by line.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use super::{idempotency::Creation, record::ExecRecord, time::Time};

/// The most bytes of a line: what an exec's line has is short, but for a user's name.
const MAX_LINE: usize = 64 * 1024;

/// An exec that has ended, as an agent that starts later has to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct IndexEntry {
    /// As the exec's directory has it, but with short arguments.
    pub(super) record: ExecRecord,
    /// When it ended, as far as is known: retention goes by it.
    pub(super) at: Time,
    /// What its directory takes on disk.
    pub(super) bytes: u64,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum IndexLine {
    Ended(Box<IndexEntry>),
    /// An exec that was removed, perhaps before it ended. Its key is not to run a command again.
    Removed(Removal),
}

/// An exec that is not there any more, and the key that it was created with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Removal {
    pub(super) id: String,
    pub(super) created: Time,
    pub(super) creation: Creation,
}

impl IndexEntry {
    /// What is to be known of it when it is not there any more; None where it was created without a key. Where
    /// nobody knows when it was created, its end counts.
    pub(super) fn removal(&self) -> Option<Removal> {
        let creation = self.record.creation.clone()?;
        let created = self.record.created().unwrap_or(self.at);
        Some(Removal { id: self.record.item.id.clone(), created, creation })
    }
}

/// Writes a line, with its end.
pub(super) fn write_line(file: &mut impl Write, line: &IndexLine) -> io::Result<()> {
    serde_json::to_writer(&mut *file, line)?;
    file.write_all(b"\n")
}

/// Hands over each line; None where it makes no sense.
pub(super) fn read_lines(
    file: &mut impl BufRead,
    mut found: impl FnMut(Option<IndexLine>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    while file.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut text)? > 0 {
        if text.len() == MAX_LINE && !text.ends_with(b"\n") {
            file.skip_until(b'\n')?;
            found(None)?;
        } else {
            found(serde_json::from_slice(&text).ok())?;
        }
        text.clear();
    }
    Ok(())
}

/// Copies what is to be kept of the lines, and returns the number of lines.
pub(super) fn copy_lines(
    from: &mut impl BufRead,
    to: &mut impl Write,
    keep: impl Fn(IndexLine) -> Option<IndexLine>,
) -> io::Result<usize> {
    let mut lines = 0;
    read_lines(from, |line| {
        if let Some(line) = line.and_then(&keep) {
            lines += 1;
            write_line(to, &line)?;
        }
        Ok(())
    })?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use sandpipe_protocol::CreateExecRequest;

    use super::*;
    use crate::execs::idempotency::IdempotencyKey;

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let request = CreateExecRequest::default();
        let creation = Creation::new(IdempotencyKey::new(b"key").unwrap(), &request).unwrap();
        let removal = Removal { id: "a".into(), created: Time::now(), creation };
        let line = serde_json::to_string(&IndexLine::Removed(removal)).unwrap();
        let read = |text: &str| {
            let mut found = Vec::new();
            read_lines(&mut text.as_bytes(), |line| {
                found.push(line.is_some());
                Ok(())
            })
            .unwrap();
            found
        };
        // But for its length it makes sense, also as the last one, which may have no end.
        for (len, is_read) in [
            (MAX_LINE - 2, true),
            (MAX_LINE - 1, true),
            (MAX_LINE, false),
            (MAX_LINE + 1, false),
            (3 * MAX_LINE, false),
        ] {
            let long = line.clone() + &" ".repeat(len - line.len());
            let text = format!("{line}\n{long}\n{line}\n{long}");
            assert_eq!(read(&text), [true, is_read, true, is_read], "{len}");
        }
    }
}
