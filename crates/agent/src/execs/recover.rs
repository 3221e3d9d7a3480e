//! What an agent that starts takes over of an earlier one: the directories in its state directory say which execs
//! there are, the index what most of them are.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Instant,
};

use super::{
    directory::Directory,
    ended::RetentionLimits,
    exec::Exec,
    idempotency::Creation,
    index_file::IndexFile,
    index_line::{IndexEntry, IndexLine, Removal},
    registry::Registry,
    time::Time,
};

/// The most bytes of a record: all that clients are shown of a request, in JSON.
const MAX_RECORD: u64 = 1024 * 1024;
/// The highest number of an exec that is believed: there is always a next one.
const MAX_NUMBER: u64 = 1 << 53;

impl Registry {
    /// Takes over the execs that an earlier agent left in the state directory, and goes on with its index in the
    /// file of that name. What can't be read is left alone, or counts and goes as if it was an exec.
    ///
    /// # Errors
    /// When the directory itself or the index can't be read.
    pub(crate) fn recover(&self, index: PathBuf) -> io::Result<()> {
        let mut recovery = Recovery {
            registry: self,
            left: self.left_execs()?,
            ended: Vec::new(),
            last_end: Time::default(),
            now: Time::now(),
        };
        let index = IndexFile::open(index, |line| recovery.take_line(line))?;
        recovery.read_directories(&index);
        recovery.finish();
        self.bookkeeping().write_to(index);
        Ok(())
    }

    /// The names of the directories of execs. What was being removed is removed.
    fn left_execs(&self) -> io::Result<HashSet<OsString>> {
        let entries = match fs::read_dir(&self.context().spools) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
            entries => entries?,
        };
        let mut names = HashSet::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = entry.path();
            if !is_directory {
                tracing::warn!(path = %path.display(), "this is no exec and is left alone");
            } else if !Directory::is_removed(Path::new(&name)) {
                names.insert(name);
            } else if let Err(error) = fs::remove_dir_all(&path) {
                tracing::warn!(%error, path = %path.display(), "an exec that was deleted can't be removed");
            }
        }
        Ok(names)
    }
}

/// The taking over.
struct Recovery<'a> {
    registry: &'a Registry,
    /// The directories that are not taken over yet.
    left: HashSet<OsString>,
    /// The number, the end and the bytes on disk of each that was.
    ended: Vec<(u64, Time, u64)>,
    /// The end of the last one in the index. Its lines are in the order of ending, also where the clock was set
    /// back in between.
    last_end: Time,
    now: Time,
}

impl Recovery<'_> {
    /// Returns whether the line says anything that is still to be known.
    fn take_line(&mut self, line: IndexLine) -> bool {
        match line {
            IndexLine::Ended(mut entry) => {
                let id = entry.record.item.id.clone();
                if self.left.contains(OsStr::new(&id)) {
                    self.last_end = self.last_end.max(entry.at.min(self.now));
                    entry.at = self.last_end;
                    if self.is_possible(&entry) && self.take_over(*entry, true) {
                        self.left.remove(OsStr::new(&id));
                        return true;
                    }
                    // Its directory knows better.
                    return false;
                }
                entry.removal().is_some_and(|removal| self.take_removal(&removal))
            }
            IndexLine::Removed(removal) => self.take_removal(&removal),
        }
    }

    /// A line that was changed by something else than an agent is not believed.
    fn is_possible(&self, IndexEntry { record, bytes, .. }: &IndexEntry) -> bool {
        let max_bytes = self.registry.context().spool_limit.total().saturating_add(MAX_RECORD);
        record.number <= MAX_NUMBER && *bytes <= max_bytes
    }

    /// An exec that is gone. Its key counts for a while.
    fn take_removal(&self, removal: &Removal) -> bool {
        let counts = Creation::counts(removal.created, self.now);
        if counts {
            self.restore_key(removal);
        }
        counts
    }

    fn restore_key(&self, Removal { id, created, creation }: &Removal) {
        self.registry.keys().restore(creation, id, created.age(self.now));
    }

    /// An exec that is there. Returns whether it can be: it is not where another has its number.
    fn take_over(&mut self, entry: IndexEntry, is_indexed: bool) -> bool {
        let removal = entry.removal();
        let IndexEntry { record, at, bytes } = entry;
        let number = record.number;
        let exec = Exec::recovered(record, is_indexed, self.registry.context());
        let taken = self.registry.insert_recovered(exec);
        if taken {
            if let Some(removal) = removal {
                self.restore_key(&removal);
            }
            self.ended.push((number, at, bytes));
        }
        taken
    }

    /// Takes over what the index does not have.
    fn read_directories(&mut self, index: &IndexFile) {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for name in std::mem::take(&mut self.left) {
            let directory = Directory::new(self.registry.context().spools.join(&name));
            match read_content(&directory, self.now) {
                Ok(DirectoryContent::Exec(entry)) => entries.push(*entry),
                Ok(DirectoryContent::Unused) => directory.remove(),
                Ok(DirectoryContent::Unreadable { at, bytes }) => {
                    unreadable.push((directory, at, bytes));
                }
                Err(error) => {
                    let directory = name.display();
                    tracing::warn!(%error, %directory, "an exec can't be read and is left alone");
                }
            }
        }
        entries.sort_by_key(|entry| (entry.at, entry.record.number));
        for entry in entries {
            let (id, line) = (entry.record.item.id.clone(), entry.clone());
            if !self.take_over(entry, false) {
                tracing::warn!(id, "an exec has the number of another and is left alone");
            } else if index.ended(line).is_ok()
                && let Some(exec) = self.registry.get(&id)
            {
                exec.is_indexed.store(true, Ordering::Release);
            }
        }
        for (directory, at, bytes) in unreadable {
            let path = directory.path().display();
            tracing::warn!(%path, "an exec has no record that can be read: it goes like those that have ended");
            let number = self.registry.insert_unreadable(directory);
            self.ended.push((number, at, bytes));
        }
    }

    /// Hands over to retention what has ended.
    fn finish(mut self) {
        // Those that ended together stay in their order.
        self.ended.sort_by_key(|(_, at, _)| *at);
        let now = Instant::now();
        let bookkeeping = self.registry.bookkeeping();
        for (number, at, bytes) in self.ended {
            let since = now.checked_sub(at.age(self.now)).unwrap_or(now);
            bookkeeping.ended(number, since, bytes);
        }
        let ended = bookkeeping.ended_execs();
        let count = ended.count_due(now);
        if count > 0 {
            let RetentionLimits { execs, age, bytes } = ended.limits();
            let age = humantime::format_duration(age);
            tracing::warn!(
                "{count} execs that have ended are more than are kept, and are removed: the agent keeps \
                 {execs} (--keep-execs) for {age} (--keep-for) with {bytes} bytes (--spool-total)"
            );
        }
    }
}

/// What a directory holds.
enum DirectoryContent {
    Exec(Box<IndexEntry>),
    /// An agent died before the exec was started.
    Unused,
    /// Nobody can tell what it is.
    Unreadable {
        at: Time,
        bytes: u64,
    },
}

fn read_content(directory: &Directory, now: Time) -> io::Result<DirectoryContent> {
    let at = || io::Result::Ok(Time::from(directory.written()?).min(now));
    let unreadable = || Ok(DirectoryContent::Unreadable { at: at()?, bytes: directory.size()? });
    let mut record = match directory.read() {
        Ok(record) => record,
        Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_unused()? => {
            return Ok(DirectoryContent::Unused);
        }
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::InvalidData
                | io::ErrorKind::UnexpectedEof => unreadable(),
                // It may be another time.
                _ => Err(error),
            };
        }
    };
    let name = directory.path().file_name();
    if name.is_none_or(|name| name != record.item.id.as_str()) || record.number > MAX_NUMBER {
        return unreadable();
    }
    let at = match record.ended() {
        Some(ended) => ended.min(now),
        None => at()?,
    };
    record.shorten();
    Ok(DirectoryContent::Exec(Box::new(IndexEntry { record, at, bytes: directory.size()? })))
}
