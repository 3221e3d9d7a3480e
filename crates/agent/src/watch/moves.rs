use std::{ffi::OsStr, path::Path};

use rustix::fs::inotify::ReadFlags;

use super::{
    changes::{ChangeKind, Changes, Tell},
    end::End,
    move_queue::RawEvent,
    tree::Attached,
    watcher::Watcher,
};

impl Watcher {
    pub(super) fn handle_move(
        &mut self,
        from: &RawEvent,
        to: &RawEvent,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        let visible = |event: &RawEvent| {
            let path = self.tree.path(event.watch)?.join(&event.name);
            (!self.is_ignored(&path)).then_some(path)
        };
        let is_directory = to.flags.contains(ReadFlags::ISDIR);
        match (visible(from), visible(to)) {
            (Some(old), Some(new)) if is_directory && self.scope.recursive => {
                self.directory_moved(from, to, [&old, &new], changes)
            }
            (Some(old), Some(new)) => {
                self.take_found(from.watch, &from.name);
                let was_told = self.take_found(to.watch, &to.name);
                // A directory that is known at either place is one that came after it.
                let is_known = self.tree.child(from.watch, &from.name).is_none();
                self.set_untold(from.watch, &from.name);
                self.set_untold(to.watch, &to.name);
                self.tell_move([&old, &new], is_known, was_told, changes)
            }
            (Some(old), None) => self.vanished(from.watch, &from.name, &old, changes),
            (None, Some(new)) => self.appeared(to.watch, &to.name, &new, is_directory, changes),
            (None, None) => Ok(()),
        }
    }

    /// A directory was moved. Whether it is the one that is known at the old place is seen by where that is now: another may have come to
    /// either place since, and have been found there.
    pub(super) fn directory_moved(
        &mut self,
        from: &RawEvent,
        to: &RawEvent,
        paths: [&Path; 2],
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        self.take_found(from.watch, &from.name);
        let was_told = self.take_found(to.watch, &to.name);
        let known = self.tree.child(from.watch, &from.name);
        let there = self.watch_at(to.watch, &to.name)?;
        let moved = match (known, there) {
            (Some(known), Some((watch, _))) => (known == watch).then_some(known),
            // It has been moved on or removed, of which an event tells that waits.
            (Some(known), None) => {
                let id = self.tree.id(known);
                let stays = self.id_at(from.watch, &from.name)?.is_some_and(|at| Some(at) == id);
                (!stays).then_some(known)
            }
            (None, _) => None,
        };
        self.tell_move(paths, moved.is_some(), was_told, changes)?;
        if let Some(moved) = moved {
            let id = self.tree.id(moved).unwrap_or_default();
            let attached = self.attach(to.watch, &to.name, moved, id);
            if there.is_none() || attached == Attached::Contradiction {
                return Ok(());
            }
            // Some of what is below may not have been watched, since it could not be found by the old path any more, or may be ignored at
            // the new place.
            let tell = if self.scope.tells_renames { Tell::New } else { Tell::All };
            return self.scan(moved, tell, Some(changes));
        }
        self.set_untold(from.watch, &from.name);
        self.discover(to.watch, &to.name, was_told, changes)
    }

    /// What was told of a directory is not known any more where it was told.
    pub(super) fn set_untold(&mut self, parent: i32, name: &OsStr) {
        self.untold.extend(self.tree.child(parent, name));
    }

    /// Tells a move as one where what was told of the old path holds for the new one.
    pub(super) fn tell_move(
        &self,
        [old, new]: [&Path; 2],
        is_known: bool,
        was_told: bool,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        if self.scope.tells_renames && is_known {
            return Ok(changes.add(ChangeKind::Renamed, &[old, new])?);
        }
        changes.add(ChangeKind::Removed, &[old])?;
        if !was_told || is_known {
            changes.add(ChangeKind::Added, &[new])?;
        }
        Ok(())
    }
}
