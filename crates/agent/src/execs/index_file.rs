//! The execs that have ended, in one file: an agent that starts reads it in place of the directory of each.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    mem,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::index_line::{IndexEntry, IndexLine, Removal, copy_lines, read_lines, write_line};

/// How many lines the file has at least when it is written anew.
const MIN_LINES: usize = 4096;
/// How many bytes are read at once.
const READ: usize = 256 * 1024;
/// A file that lines of JSON are appended to: one for each exec that ends, in the order of ending.
///
/// Which execs there are is said by their directories, and one that is missing here is read from its directory: a
/// line of an exec that is not written costs time at the next start. Of an exec that is gone, only this file has the
/// key.
#[derive(Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    appending: Mutex<Appending>,
    /// It is time to write it anew.
    long: Notify,
}

#[derive(Debug)]
struct Appending {
    file: File,
    lines: usize,
    /// The number of lines from which on it is written anew: more than twice as many as stayed the last time, so
    /// that a line costs the same however many there are.
    max_lines: usize,
    /// The last line is whole, as far as is known: otherwise the next is not to go on it.
    is_whole: bool,
}

impl IndexFile {
    /// Opens the file of that name, or makes it, and hands over what it holds, line by line. `found` says whether
    /// the line is of any use.
    pub(super) fn open(
        path: PathBuf,
        mut found: impl FnMut(IndexLine) -> bool,
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = open(&path, options.read(true).append(true).create(true))?;
        let (mut lines, mut useful) = (0, 0);
        read_lines(&mut BufReader::with_capacity(READ, &mut file), |line| {
            lines += 1;
            // One that makes no sense was only half written.
            useful += usize::from(line.is_some_and(&mut found));
            Ok(())
        })?;
        let max_lines = max_lines(useful);
        let appending = Appending { file, lines, max_lines, is_whole: lines == 0 };
        let index = Self { path, appending: Mutex::new(appending), long: Notify::new() };
        index.appending().tell_if_long(&index.long);
        Ok(index)
    }

    /// An exec has ended. It may block.
    ///
    /// # Errors
    /// It was not written, or perhaps a part of it.
    pub(super) fn ended(&self, entry: IndexEntry) -> io::Result<()> {
        self.append(&IndexLine::Ended(Box::new(entry)))
    }

    /// An exec is removed. It may block.
    ///
    /// # Errors
    /// It was not written, or perhaps a part of it.
    pub(super) fn removed(&self, removal: Removal) -> io::Result<()> {
        self.append(&IndexLine::Removed(removal))
    }

    fn append(&self, line: &IndexLine) -> io::Result<()> {
        let mut text = b"\n".to_vec();
        write_line(&mut text, line)?;
        let mut appending = self.appending();
        appending.lines += 1;
        let was_whole = mem::replace(&mut appending.is_whole, false);
        let written = text.get(usize::from(was_whole)..).unwrap_or_default();
        let written = appending.file.write_all(written);
        appending.is_whole = written.is_ok();
        appending.tell_if_long(&self.long);
        drop(appending);
        // The first of several says it.
        if let Err(error) = &written
            && was_whole
        {
            tracing::warn!(%error, path = %self.path.display(), "the index of execs can't be written");
        }
        written
    }

    /// Waits until it is time to write it anew.
    pub(super) async fn until_long(&self) {
        self.long.notified().await;
    }

    /// Writes the file anew, with what `keep` makes of each line. It may block, and holds up those who append no
    /// longer than it takes to copy what was appended meanwhile.
    ///
    /// # Errors
    /// The system's; the file is then as it was, and grows before it is time again.
    pub(super) fn compact(&self, keep: impl Fn(IndexLine) -> Option<IndexLine>) -> io::Result<()> {
        let new_path = self.path.with_extension("new");
        let compacted = self.copy_to(&new_path, keep);
        if compacted.is_err() {
            // It takes room that may be missing.
            let _none = fs::remove_file(&new_path);
            let mut appending = self.appending();
            appending.max_lines = appending.lines + MIN_LINES;
        }
        compacted
    }

    fn copy_to(
        &self,
        new_path: &Path,
        keep: impl Fn(IndexLine) -> Option<IndexLine>,
    ) -> io::Result<()> {
        let len = self.appending().file.metadata()?.len();
        // Of an agent that died meanwhile.
        let _none = fs::remove_file(new_path);
        let file = open(new_path, OpenOptions::new().append(true).create_new(true))?;
        let mut new = BufWriter::new(file);
        let mut old = BufReader::with_capacity(READ, File::open(&self.path)?);
        let mut lines = copy_lines(&mut old.by_ref().take(len), &mut new, &keep)?;
        let mut appending = self.appending();
        lines += copy_lines(&mut old, &mut new, &keep)?;
        // The file itself: after the rename nothing may fail.
        let file = new.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::rename(new_path, &self.path)?;
        *appending = Appending { file, lines, max_lines: max_lines(lines), is_whole: true };
        Ok(())
    }

    fn appending(&self) -> MutexGuard<'_, Appending> {
        self.appending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Appending {
    fn tell_if_long(&self, long: &Notify) {
        if self.lines > self.max_lines {
            long.notify_one();
        }
    }
}

/// How many lines a file may have of which so many are of use.
fn max_lines(useful: usize) -> usize {
    2 * useful + MIN_LINES
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, sync::mpsc, thread, time::Duration};

    use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus};

    use super::*;
    use crate::execs::{
        idempotency::{Creation, IdempotencyKey},
        record::ExecRecord,
        time::Time,
    };

    fn entry(id: &str, created: Time) -> IndexEntry {
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
            cwd: None,
            policy: None,
            stop_reason: None,
            output_error: None,
            args_truncated: None,
        };
        let record = ExecRecord { number: 1, item, creation: None, last_event: None };
        IndexEntry { record, at: created, bytes: 3 }
    }

    /// The file, and the ids that it held.
    fn read(path: &Path) -> (IndexFile, Vec<String>) {
        let mut ids = Vec::new();
        let index = IndexFile::open(path.into(), |line| {
            ids.push(match line {
                IndexLine::Ended(entry) => entry.record.item.id,
                IndexLine::Removed(removal) => format!("{} is gone", removal.id),
            });
            true
        });
        (index.unwrap(), ids)
    }

    fn is_long(index: &IndexFile) -> bool {
        futures_util::FutureExt::now_or_never(index.until_long()).is_some()
    }

    fn removal(id: &str, created: Time) -> Removal {
        let key = IdempotencyKey::new(b"key").unwrap();
        let creation = Creation::new(key, &CreateExecRequest::default()).unwrap();
        Removal { id: id.into(), created, creation }
    }

    #[test]
    fn what_was_appended_is_there_and_a_line_that_was_cut_costs_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let now = Time::now();
        let (index, ids) = read(&path);
        assert!(ids.is_empty());
        index.ended(entry("a", now)).unwrap();
        index.ended(entry("b", now)).unwrap();
        let whole = fs::read(&path).unwrap();
        // All but the end of the line.
        for cut in 2..whole.len() / 2 {
            fs::write(&path, whole.get(..whole.len() - cut).unwrap()).unwrap();
            let (index, ids) = read(&path);
            assert_eq!(ids, ["a"], "{cut}");
            index.ended(entry("c", now)).unwrap();
            assert_eq!(read(&path).1, ["a", "c"], "{cut}");
        }
    }

    #[test]
    fn it_is_written_anew_when_most_of_it_is_of_no_use_and_no_sooner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let (index, _) = read(&path);
        let now = Time::now();
        let mut written_anew = 0;
        // As where the newest 3000 are kept.
        for number in 0..50_000_usize {
            index.ended(entry(&number.to_string(), now)).unwrap();
            if is_long(&index) {
                written_anew += 1;
                let is_kept = |id: &str| id.parse::<usize>().unwrap() + 3000 > number;
                let keep = |line| match line {
                    IndexLine::Ended(entry) if is_kept(&entry.record.item.id) => {
                        Some(IndexLine::Ended(entry))
                    }
                    _ => None,
                };
                index.compact(keep).unwrap();
                let ids = read(&path).1;
                assert_eq!(ids.len(), 3000);
                assert_eq!(ids.last(), Some(&number.to_string()));
            }
        }
        assert!((5..9).contains(&written_anew), "{written_anew} times");
        // So it is after a start.
        fs::write(&path, "no sense\n".repeat(MIN_LINES)).unwrap();
        assert!(!is_long(&read(&path).0));
        fs::write(&path, "no sense\n".repeat(MIN_LINES + 1)).unwrap();
        assert!(is_long(&read(&path).0));
    }

    #[test]
    fn what_is_appended_to_one_that_was_written_anew_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        // As of an agent that died.
        fs::write(path.with_extension("new"), "half a li").unwrap();
        let (index, _) = read(&path);
        let now = Time::now();
        for id in ["a", "b", "c"] {
            index.ended(entry(id, now)).unwrap();
        }
        let keep = |line| match line {
            IndexLine::Ended(entry) if entry.record.item.id == "a" => None,
            IndexLine::Ended(entry) if entry.record.item.id == "b" => {
                Some(IndexLine::Removed(removal("b", now)))
            }
            line => Some(line),
        };
        index.compact(keep).unwrap();
        index.removed(removal("d", now)).unwrap();
        assert_eq!(read(&path).1, ["b is gone", "c", "d is gone"]);
    }

    #[test]
    fn what_is_appended_while_it_is_written_anew_is_there_and_does_not_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let (index, _) = read(&path);
        let now = Time::now();
        index.ended(entry("a", now)).unwrap();
        index.ended(entry("b", now)).unwrap();
        let is_first = Cell::new(true);
        let (appended, is_appended) = mpsc::channel();
        thread::scope(|scope| {
            let append = || appended.send(index.ended(entry("c", now))).unwrap();
            let keep = |line| {
                if is_first.take() {
                    scope.spawn(append);
                    let done = is_appended.recv_timeout(Duration::from_mins(1));
                    done.expect("it waits").unwrap();
                }
                Some(line)
            };
            index.compact(keep).unwrap();
        });
        index.ended(entry("d", now)).unwrap();
        assert_eq!(read(&path).1, ["a", "b", "c", "d"]);
    }

    #[test]
    fn one_that_can_not_be_written_anew_stays_as_it_is_and_is_left_alone_for_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let (index, _) = read(&path);
        let now = Time::now();
        let mut tried = 0;
        for number in 0..4 * MIN_LINES {
            index.ended(entry(&number.to_string(), now)).unwrap();
            if is_long(&index) {
                tried += 1;
                // Nothing can be renamed to that.
                fs::rename(&path, path.with_extension("kept")).unwrap();
                fs::create_dir_all(path.join("directory")).unwrap();
                index.compact(Some).unwrap_err();
                fs::remove_dir_all(&path).unwrap();
                fs::rename(path.with_extension("kept"), &path).unwrap();
            }
        }
        assert_eq!(tried, 3);
        assert!(!path.with_extension("new").exists());
        assert_eq!(read(&path).1.len(), 4 * MIN_LINES);
    }

    #[test]
    fn what_is_not_written_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let (index, _) = read(&path);
        index.appending().file = File::open(&path).unwrap();
        index.removed(removal("a", Time::now())).unwrap_err();
        index.appending().file = OpenOptions::new().append(true).open(&path).unwrap();
        index.removed(removal("b", Time::now())).unwrap();
        assert_eq!(read(&path).1, ["b is gone"]);
    }
}
