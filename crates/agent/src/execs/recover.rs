use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    directory::Directory,
    ended::Place,
    exec::Exec,
    idempotency::Creation,
    index_file::{Entry, IndexFile, Line, Removal},
    registry::Registry,
    time::Time,
};

impl Registry {
    /// Takes over the execs that an earlier agent left in the state directory, and goes on with its index in the
    /// file of that name. What can't be read is left alone.
    ///
    /// # Errors
    /// When the directory itself or the index can't be read.
    pub(crate) fn recover(&self, index: PathBuf) -> io::Result<()> {
        // The directories say which execs there are, and the index what they are.
        let mut left = self.left_execs()?;
        let now = Time::now();
        let index = IndexFile::open(index, |line| match line {
            Line::Ended(entry) => {
                self.restore_key(key_of(&entry), now);
                if left.remove(OsStr::new(&entry.record.item.id)) {
                    self.restore(*entry);
                }
            }
            Line::Removed(removal) => self.restore_key(Some(removal), now),
        })?;
        for name in left {
            match read_left(&Directory::new(self.spools().join(&name))) {
                Ok(entry) => {
                    index.ended(&entry);
                    self.restore_key(key_of(&entry), now);
                    self.restore(entry);
                }
                Err(error) => {
                    let directory = name.display();
                    tracing::warn!(%error, %directory, "an exec can't be read and is skipped");
                }
            }
        }
        self.ledger().write_to(index);
        Ok(())
    }

    fn restore(&self, Entry { record, at, bytes }: Entry) {
        let place = Place { at, number: record.number };
        self.put_back(Arc::new(Exec::recovered(record, at, self)));
        self.ledger().ended(place, bytes);
    }

    /// A key counts also where its exec has been removed.
    fn restore_key(&self, key: Option<Removal>, now: Time) {
        if let Some(Removal { id, created, creation }) = key
            && Creation::counts(created, now)
        {
            self.keys().restore(&creation, &id);
        }
    }

    /// The names of the directories of execs. What was being removed is removed.
    fn left_execs(&self) -> io::Result<HashSet<OsString>> {
        let entries = match fs::read_dir(self.spools()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
            entries => entries?,
        };
        let mut names = HashSet::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if Directory::is_removed(Path::new(&name)) {
                fs::remove_dir_all(entry.path())?;
            } else {
                names.insert(name);
            }
        }
        Ok(names)
    }
}

/// The key that an exec was created with. Where nobody knows when that was, the end counts.
fn key_of(Entry { record, at, .. }: &Entry) -> Option<Removal> {
    let creation = record.creation.clone()?;
    let created = record.created().unwrap_or(*at);
    Some(Removal { id: record.item.id.clone(), created, creation })
}

/// What the directory of an exec says.
fn read_left(directory: &Directory) -> io::Result<Entry> {
    let mut record = directory.read()?;
    let id = &record.item.id;
    if directory.path().file_name().is_none_or(|name| name != id.as_str()) {
        let message = format!("the record is that of exec {id:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let at = match record.ended() {
        Some(ended) => ended,
        None => directory.written()?.into(),
    };
    record.shorten();
    Ok(Entry { record, at, bytes: directory.size()? })
}
