use std::{os::unix::ffi::OsStrExt, path::Path};

use rustix::fs::inotify::ReadFlags;

use super::{
    changes::{ChangeKind, Changes, Tell},
    end::End,
    move_queue::RawEvent,
    scan::NowAt,
    watcher::Watcher,
};

/// Directory that was moved.
struct Moved {
    watch: i32,
    /// Whether it is at the new place now. If not, a waiting event says where it is.
    is_there: bool,
}

impl Watcher {
    /// Handles a move as one, or as its two halves if clients may know more, or less, below the old
    /// path than what was moved.
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
        if self.scope.tells_renames
            && let (Some(old), Some(new)) = (visible(from), visible(to))
        {
            if !(self.scope.recursive && to.flags.contains(ReadFlags::ISDIR)) {
                // A directory that has the old name came there after the file.
                if self.tree.child(from.watch, &from.name).is_none() {
                    return self.renamed([from, to], [&old, &new], None, changes);
                }
            } else if self.ignores_alike(&old, &new)
                && let Some(moved) = self.moved(from, to)?
            {
                return self.renamed([from, to], [&old, &new], Some(&moved), changes);
            }
        }
        self.handle(from, changes)?;
        self.handle(to, changes)
    }

    /// Whether the same is ignored below two paths.
    fn ignores_alike(&self, one: &Path, other: &Path) -> bool {
        let [one, other] = [one, other].map(|path| path.as_os_str().as_bytes());
        self.scope.ignore.are_alike_below(one, other)
    }

    /// Returns the directory that was moved, or none if the one that has the old name may be another,
    /// which came there later.
    fn moved(&self, from: &RawEvent, to: &RawEvent) -> Result<Option<Moved>, End> {
        let Some(watch) = self.tree.child(from.watch, &from.name) else {
            return Ok(None);
        };
        let it = self.tree.id(watch).map_or(NowAt::Unknown, NowAt::Directory);
        let at_new = self.now_at(to.watch, &to.name)?;
        let at_old = self.now_at(from.watch, &from.name)?;
        let is_there = at_new == it;
        // It was moved on, or removed. If it is still at the old place, it was exchanged for another,
        // or came back.
        let is_gone = self.tree.is_settled(watch)
            && at_new == NowAt::NoDirectory
            && at_old != NowAt::Unknown
            && at_old != it;
        let can_be = self.tree.can_replace(to.watch, &to.name, watch);
        Ok(((is_there || is_gone) && can_be).then_some(Moved { watch, is_there }))
    }

    /// Reports a move as one.
    fn renamed(
        &mut self,
        [from, to]: [&RawEvent; 2],
        [old, new]: [&Path; 2],
        moved: Option<&Moved>,
        changes: &mut Changes<'_>,
    ) -> Result<(), End> {
        self.take_found(from.watch, &from.name);
        self.take_found(to.watch, &to.name);
        // A directory that has the new name was replaced, or came there later: then an event waits.
        self.forget(|tree| tree.detach(to.watch, &to.name));
        changes.add(ChangeKind::Renamed, &[old, new])?;
        if let Some(Moved { watch, is_there }) = moved {
            let id = self.tree.id(*watch).unwrap_or_default();
            self.tree.attach(to.watch, &to.name, *watch, id);
            if *is_there {
                // A directory below it may not be watched: it could not be opened by the old path.
                self.scan(*watch, Tell::New, Some(changes))?;
            }
        }
        self.look(from.watch, &from.name, old, changes)
    }
}
