use std::{ffi::OsStr, os::fd::AsFd, path::Path};

use rustix::fs::{AtFlags, FileType, inotify::ReadFlags, statat};

use super::{
    changes::{ChangeKind, Changes, Tell},
    end::End,
    move_queue::RawEvent,
    tree::Attached,
    watcher::Watcher,
};

impl Watcher {
    /// Handles an event. A half of a move is handled as if the other half were outside.
    pub(super) fn handle(
        &mut self,
        event: &RawEvent,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        let RawEvent { watch, flags, name, .. } = event;
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.start_anew(changes);
        }
        if *watch == self.tree.root() {
            check_root(*flags)?;
        }
        if flags.contains(ReadFlags::IGNORED) {
            // Its name is told of by its parent.
            self.forget(|tree| tree.detach_watch(*watch));
            return Ok(());
        }
        let Some(directory) = self.tree.path(*watch).filter(|_| !name.is_empty()) else {
            return Ok(());
        };
        let path = directory.join(name);
        let has_left = flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        if self.is_ignored(&path) {
            if has_left {
                self.forget(|tree| tree.detach(*watch, name));
            }
            return Ok(());
        }
        let is_directory = flags.contains(ReadFlags::ISDIR);
        if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.appeared(*watch, name, &path, is_directory, changes)
        } else if has_left {
            self.vanished(*watch, name, &path, changes)?;
            if flags.contains(ReadFlags::MOVED_FROM) {
                self.look(*watch, name, &path, changes)?;
            }
            Ok(())
        } else {
            changes.add(ChangeKind::Changed, &[&path])?;
            if is_directory && self.tree.child(*watch, name).is_none() {
                // It may not have been readable before.
                self.discover(*watch, name, changes)?;
            }
            Ok(())
        }
    }

    /// Something is there that was not, or was told already when it was found.
    fn appeared(
        &mut self,
        parent: i32,
        name: &OsStr,
        path: &Path,
        is_directory: bool,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        // A directory that had the name until now was replaced.
        if self.tree.child(parent, name).is_some_and(|child| self.tree.is_settled(child)) {
            self.forget(|tree| tree.detach(parent, name));
        }
        if !self.take_found(parent, name) {
            changes.add(ChangeKind::Added, &[path])?;
        }
        if is_directory { self.discover(parent, name, changes) } else { Ok(()) }
    }

    /// Reports that an entry has left, and forgets it.
    fn vanished(
        &mut self,
        parent: i32,
        name: &OsStr,
        path: &Path,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        self.take_found(parent, name);
        self.forget(|tree| tree.detach(parent, name));
        Ok(changes.add(ChangeKind::Removed, &[path])?)
    }

    /// Watches a directory that has appeared, and tells what is in it, unless that was told already.
    fn discover(
        &mut self,
        parent: i32,
        name: &OsStr,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        if !self.scope.recursive {
            return Ok(());
        }
        let Some(directory) = self.open(parent)? else {
            return Ok(());
        };
        match self.find(directory.as_fd(), parent, name, Some(changes))? {
            Some((watch, Attached::New)) => self.scan(watch, Tell::All, Some(changes)),
            _ => Ok(()),
        }
    }

    /// Reports an entry that is still there, or again, after an event that it has left. There may be
    /// no other event: if two entries are exchanged (`RENAME_EXCHANGE`), the last event about one of
    /// the names is that its entry has left.
    pub(super) fn look(
        &mut self,
        parent: i32,
        name: &OsStr,
        path: &Path,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        let Some(directory) = self.open(parent)? else {
            if self.tree.id(parent).is_some() {
                self.unread.insert(parent);
            }
            return Ok(());
        };
        let Ok(stat) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(());
        };
        self.add_found(parent, name);
        changes.add(ChangeKind::Added, &[path])?;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_directory { self.discover(parent, name, changes) } else { Ok(()) }
    }
}

/// Whether the watched directory is still there.
fn check_root(flags: ReadFlags) -> Result<(), End> {
    for (flag, end) in [
        (ReadFlags::DELETE_SELF, "was removed"),
        (ReadFlags::MOVE_SELF, "was moved to another place"),
        (ReadFlags::UNMOUNT, "was unmounted"),
        (ReadFlags::IGNORED, "is gone"),
    ] {
        if flags.contains(flag) {
            return Err(End::Root(end));
        }
    }
    Ok(())
}
