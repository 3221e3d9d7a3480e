use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    mem,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::SystemTime,
};

use nix::{
    errno::Errno,
    fcntl::{FallocateFlags, fallocate},
    libc::off_t,
};

use super::record::ExecRecord;
use crate::descriptors::{DESCRIPTOR_PAUSE, lacks_descriptor};

/// The file with what is known of an exec besides its output.
const RECORD: &str = "exec.json";
/// A record that is being written.
const UNFINISHED: &str = "exec.json.new";
/// The record of the end, which is to come.
const END: &str = "exec.json.end";
/// How much longer than the record before that of the end may be.
const END_GROWTH: usize = 1024;
/// What the name of a directory ends with that is being removed.
const REMOVED: &str = "removed";

/// An exec's directory on disk: its record, and the segments of its output.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Nothing may be written to it any more.
    removed: bool,
    /// The length of the last record.
    len: usize,
    /// There is a file for the record of the end, which has its room on the disk.
    end_reserved: bool,
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, state: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> io::Result<ExecRecord> {
        Ok(serde_json::from_slice(&fs::read(self.path.join(RECORD))?)?)
    }

    /// When the record was written, or else anything in it.
    pub(super) fn written(&self) -> io::Result<SystemTime> {
        fs::metadata(self.path.join(RECORD)).or_else(|_| fs::metadata(&self.path))?.modified()
    }

    /// Whether it has no record and no output: an agent died before the exec was started.
    pub(super) fn is_unused(&self) -> io::Result<bool> {
        for entry in fs::read_dir(&self.path)? {
            if ![UNFINISHED, END]
                .iter()
                .any(|name| entry.as_ref().is_ok_and(|entry| entry.file_name() == *name))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many bytes its files have.
    pub(super) fn size(&self) -> io::Result<u64> {
        let mut size = 0_u64;
        for entry in fs::read_dir(&self.path)? {
            size = size.saturating_add(entry?.metadata()?.len());
        }
        Ok(size)
    }

    /// Writes the record, and returns its size; None where the directory is being removed. At any moment the
    /// old one or the new one is there, whole.
    pub(super) fn write(&self, record: &ExecRecord) -> io::Result<Option<u64>> {
        let mut state = self.state();
        if state.removed {
            return Ok(None);
        }
        let json = serde_json::to_vec(record)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        self.open(UNFINISHED)?.write_all(&json)?;
        fs::rename(self.path.join(UNFINISHED), self.path.join(RECORD))?;
        state.len = json.len();
        Ok(Some(json.len() as u64))
    }

    /// Takes the room on the disk that [`Directory::write_end`] needs, after a record was written.
    pub(super) fn reserve_end(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.removed {
            return Ok(());
        }
        let file = self.open(END)?;
        let len = off_t::try_from(state.len + END_GROWTH).map_err(io::Error::other)?;
        match fallocate(&file, FallocateFlags::empty(), 0, len) {
            // Such a file system gives room only to what is written.
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => {}
            Err(errno) => {
                self.remove_end();
                return Err(errno.into());
            }
        }
        state.end_reserved = true;
        Ok(())
    }

    /// Gives back what [`Directory::reserve_end`] took.
    pub(super) fn unreserve_end(&self) {
        if mem::take(&mut self.state().end_reserved) {
            self.remove_end();
        }
    }

    fn remove_end(&self) {
        if let Err(error) = fs::remove_file(self.path.join(END)) {
            tracing::warn!(%error, directory = %self.path.display(), "can't remove a record");
        }
    }

    /// Writes the last record, as [`Directory::write`] does. Where the agent has no descriptor left it waits
    /// for one.
    pub(super) fn write_end(&self, record: &ExecRecord) -> io::Result<Option<u64>> {
        if !mem::take(&mut self.state().end_reserved) {
            return self.write(record);
        }
        let Some(mut file) = self.open_end()? else {
            return Ok(None);
        };
        let json = serde_json::to_vec(record)?;
        file.write_all(&json)?;
        file.set_len(json.len() as u64)?;
        let state = self.state();
        if state.removed {
            return Ok(None);
        }
        fs::rename(self.path.join(END), self.path.join(RECORD))?;
        Ok(Some(json.len() as u64))
    }

    /// Opens the file for the last record; `None` where the directory has been removed.
    fn open_end(&self) -> io::Result<Option<File>> {
        while !self.state().removed {
            let opened = OpenOptions::new().write(true).open(self.path.join(END));
            if !opened.as_ref().is_err_and(lacks_descriptor) {
                return opened.map(Some);
            }
            sleep(DESCRIPTOR_PAUSE);
        }
        Ok(None)
    }

    /// Removes it. An agent that dies meanwhile leaves nothing that looks like an exec.
    pub(super) fn remove(&self) {
        let mut state = self.state();
        state.removed = true;
        drop(state);
        let path = self.path.with_extension(REMOVED);
        let result = fs::rename(&self.path, &path).and_then(|()| remove_all(&path));
        if let Err(error) = result
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, directory = %self.path.display(), "can't remove an exec");
        }
    }

    /// Whether an agent died while it removed this directory.
    pub(super) fn is_removed(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == REMOVED)
    }

    /// A new file, for its owner alone.
    fn open(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).open(self.path.join(name))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a directory. Where it has no output in it, as after a create that was refused for want of
/// descriptors, it takes none.
fn remove_all(path: &Path) -> io::Result<()> {
    for name in [RECORD, UNFINISHED, END] {
        // What is left of them is removed, or told, with the rest.
        let _none = fs::remove_file(path.join(name));
    }
    fs::remove_dir(path).or_else(|_| fs::remove_dir_all(path))
}
