//! The execs that have ended, in one file: an agent that starts reads it in place of the directory of each.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{idempotency::Creation, record::Record, time::Time};

/// How many lines that stand for nothing any more are left, besides as many as stand for something.
const MAX_SPARE_LINES: usize = 4096;
/// How many bytes are read at once.
const READ: usize = 256 * 1024;

/// A file that lines of JSON are appended to: one for each exec that ends.
///
/// It says nothing that the directories of the execs don't say: an exec is there as long as its directory is,
/// and one that is missing here is read from its directory. So a line that was not written, or only half, costs
/// time at the next start and nothing else.
#[derive(Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    appending: Mutex<Appending>,
}

#[derive(Debug)]
struct Appending {
    file: File,
    lines: usize,
    /// The last line may be only half written, as on a full disk: the next is not to go on it.
    is_whole: bool,
}

/// An exec that has ended, as an agent that starts later has to know it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// As the exec's directory has it, but with short arguments.
    pub(super) record: Record,
    /// When it ended, as far as is known: retention goes by it.
    pub(super) at: Time,
    /// What its directory takes on disk.
    pub(super) bytes: u64,
}

/// A line that was read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line {
    Ended(Box<Entry>),
    /// An exec that was removed, perhaps before it ended. Its key is not to run a command again.
    Removed(Removal),
}

/// A line to be written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum NewLine<'a> {
    Ended(&'a Entry),
    Removed(&'a Removal),
}

/// An exec that is not there any more, and the key that it was created with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Removal {
    pub(super) id: String,
    pub(super) created: Time,
    pub(super) creation: Creation,
}

impl IndexFile {
    /// Opens the file of that name, or makes it, and hands over what it holds, line by line.
    pub(super) fn open(path: PathBuf, mut found: impl FnMut(Line)) -> io::Result<Self> {
        let mut file = open(&path, OpenOptions::new().read(true).append(true).create(true))?;
        let mut lines = 0;
        let mut is_whole = true;
        read_lines(&mut BufReader::with_capacity(READ, &mut file), |text, line| {
            lines += 1;
            is_whole = text.ends_with(b"\n");
            // One that makes no sense was only half written.
            line.into_iter().for_each(&mut found);
            Ok(())
        })?;
        Ok(Self { path, appending: Mutex::new(Appending { file, lines, is_whole }) })
    }

    /// An exec has ended. It may block.
    pub(super) fn ended(&self, entry: &Entry) {
        self.append(&NewLine::Ended(entry));
    }

    /// An exec is removed. It may block.
    pub(super) fn removed(&self, removal: &Removal) {
        self.append(&NewLine::Removed(removal));
    }

    fn append(&self, line: &NewLine<'_>) {
        let mut appending = self.appending();
        appending.lines += 1;
        let mut text = if appending.is_whole { vec![] } else { vec![b'\n'] };
        let written = serde_json::to_writer(&mut text, line).map_err(io::Error::from);
        text.push(b'\n');
        let written = written.and_then(|()| appending.file.write_all(&text));
        appending.is_whole = written.is_ok();
        if let Err(error) = written {
            tracing::warn!(%error, path = %self.path.display(), "the index of execs can't be written");
        }
    }

    /// Writes the file anew where most of it is of execs that are gone: `is_there` says of an id whether it is
    /// one of the `count` that are not. Keys that count still stay. It may block, and holds up those who append
    /// no longer than it takes to copy what was appended meanwhile.
    ///
    /// # Errors
    /// The system's; the file is then as it was.
    pub(super) fn tidy(&self, count: usize, is_there: impl Fn(&str) -> bool) -> io::Result<()> {
        let (spare, len) = {
            let appending = self.appending();
            (appending.lines.saturating_sub(2 * count), appending.file.metadata()?.len())
        };
        if spare <= MAX_SPARE_LINES {
            return Ok(());
        }
        let now = Time::now();
        let stays = |line: Line| match line {
            Line::Ended(entry) => {
                is_there(&entry.record.item.id)
                    || entry.record.created().is_some_and(|created| Creation::counts(created, now))
            }
            Line::Removed(removal) => Creation::counts(removal.created, now),
        };
        let new_path = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        let new = open(&new_path, options.write(true).create(true).truncate(true))?;
        let mut new = BufWriter::new(new);
        let mut old = BufReader::with_capacity(READ, File::open(&self.path)?);
        let mut lines = copy_lines(&mut old.by_ref().take(len), &mut new, stays)?;
        let mut appending = self.appending();
        lines += copy_lines(&mut old, &mut new, stays)?;
        new.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::rename(&new_path, &self.path)?;
        let file = open(&self.path, OpenOptions::new().append(true))?;
        *appending = Appending { file, lines, is_whole: true };
        Ok(())
    }

    fn appending(&self) -> MutexGuard<'_, Appending> {
        self.appending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).open(path)
}

/// Hands over each line, with its end; None where it makes no sense.
fn read_lines(
    file: &mut impl BufRead,
    mut found: impl FnMut(&[u8], Option<Line>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    while file.read_until(b'\n', &mut text)? > 0 {
        found(&text, serde_json::from_slice(&text).ok())?;
        text.clear();
    }
    Ok(())
}

/// Copies the lines that are to stay, and gives their number.
fn copy_lines(
    from: &mut impl BufRead,
    to: &mut impl Write,
    stays: impl Fn(Line) -> bool,
) -> io::Result<usize> {
    let mut lines = 0;
    read_lines(from, |text, line| {
        if line.is_some_and(&stays) {
            lines += 1;
            to.write_all(text)?;
        }
        Ok(())
    })?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus};

    use super::*;
    use crate::execs::idempotency::IdempotencyKey;

    fn entry(id: &str, created: Time) -> Entry {
        let item = ExecItem {
            id: id.into(),
            command: "true".into(),
            args: vec![],
            status: ExecStatus::Exited,
            pid: 7,
            pty: false,
            exit_code: 0,
            user: None,
            created_at: Some(created.to_string()),
            started_at: None,
            ended_at: None,
            args_truncated: None,
        };
        let record = Record { number: 1, item, creation: None, last_event: None };
        Entry { record, at: created, bytes: 3 }
    }

    /// The file, and the ids that it held.
    fn read(path: &Path) -> (IndexFile, Vec<String>) {
        let mut ids = Vec::new();
        let index = IndexFile::open(path.into(), |line| match line {
            Line::Ended(entry) => ids.push(entry.record.item.id),
            Line::Removed(removal) => ids.push(format!("{} is gone", removal.id)),
        });
        (index.unwrap(), ids)
    }

    #[test]
    fn what_was_appended_is_there_and_a_line_that_was_cut_costs_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let now = Time::now();
        let (index, ids) = read(&path);
        assert!(ids.is_empty());
        index.ended(&entry("a", now));
        index.ended(&entry("b", now));
        let whole = fs::read(&path).unwrap();
        // All but the end of the line.
        for cut in 2..whole.len() / 2 {
            fs::write(&path, whole.get(..whole.len() - cut).unwrap()).unwrap();
            let (index, ids) = read(&path);
            assert_eq!(ids, ["a"], "{cut}");
            index.ended(&entry("c", now));
            assert_eq!(read(&path).1, ["a", "c"], "{cut}");
        }
    }

    #[test]
    fn lines_of_execs_that_are_gone_go_unless_their_keys_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let (index, _) = read(&path);
        let now = Time::now();
        let long_ago = Time::parse("2020-01-01T00:00:00.000Z").unwrap();
        for number in 0..2 * MAX_SPARE_LINES {
            index.ended(&entry(&format!("old-{number}"), long_ago));
        }
        let key = IdempotencyKey::new(b"key").unwrap();
        let creation = Creation::new(key, &CreateExecRequest::default()).unwrap();
        let removal = |created| Removal { id: "x".into(), created, creation: creation.clone() };
        index.removed(&removal(now));
        index.removed(&removal(long_ago));
        index.ended(&entry("kept", long_ago));
        index.ended(&entry("recent", now));
        let before = fs::read(&path).unwrap();
        index.tidy(MAX_SPARE_LINES, |_| true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
        index.tidy(1, |id| id == "kept").unwrap();
        index.ended(&entry("later", now));
        assert_eq!(read(&path).1, ["x is gone", "kept", "recent", "later"]);
    }
}
