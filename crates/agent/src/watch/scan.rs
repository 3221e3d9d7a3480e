use std::{
    ffi::OsStr,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, Dir, FileType, statat},
    io::Errno,
};

use super::{
    changes::{ChangeKind, Changes, Tell},
    disk::{id_of, is_dots, open_below, open_in},
    end::{End, is_gone, refused},
    tree::{Attached, FileId, Tree},
    watcher::Watcher,
};

/// Directory that has a name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NowAt {
    /// The directory that holds the name was moved.
    Unknown,
    NoDirectory,
    Directory(FileId),
}

impl Watcher {
    /// Reads a directory, and those below it, each after it has got its watch.
    pub(super) fn scan(
        &mut self,
        watch: i32,
        tell: Tell,
        mut changes: Option<&mut Changes<'_>>,
    ) -> Result<(), End> {
        let mut next = vec![(watch, tell)];
        while let Some((watch, tell)) = next.pop() {
            let (Some(directory), Some(path)) = (self.open(watch)?, self.tree.path(watch)) else {
                // A waiting event says where it is now, or a directory above it. There it is found
                // anew.
                if tell == Tell::All {
                    self.forget(|tree| tree.detach_watch(watch));
                }
                continue;
            };
            let tell = match tell {
                Tell::New if self.unread.remove(&watch) => Tell::All,
                tell => tell,
            };
            let failed = |errno| End::System { path: self.scope.root.join(&path), errno };
            let mut entries = Dir::new(directory).map_err(failed)?;
            while let Some(entry) = entries.read() {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(errno) if is_gone(errno) => break,
                    Err(errno) => return Err(self.system(&path, errno)),
                };
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if is_dots(name) {
                    continue;
                }
                let path = path.join(name);
                if self.is_ignored(&path) {
                    self.forget(|tree| tree.detach(watch, name));
                    continue;
                }
                let directory = entries.fd().map_err(|errno| self.system(&path, errno))?;
                let found = if is_directory(directory, name, entry.file_type()) {
                    self.find(directory, watch, name, changes.as_deref_mut())?
                } else {
                    None
                };
                let is_new = found.is_some_and(|(_, attached)| attached == Attached::New);
                if let Some(changes) = changes.as_deref_mut()
                    && (tell == Tell::All || tell == Tell::New && is_new)
                {
                    self.add_found(watch, name);
                    changes.add(ChangeKind::Added, &[&path])?;
                }
                match (found, tell) {
                    (Some((child, Attached::New)), Tell::New) => next.push((child, Tell::All)),
                    (Some((child, Attached::Known)), Tell::All) => next.push((child, Tell::New)),
                    // What is found in itself, as by a bind mount, is not read for ever.
                    (Some((_, Attached::Contradiction)) | None, _) => {}
                    (Some((child, _)), tell) => next.push((child, tell)),
                }
            }
        }
        Ok(())
    }

    /// Looks which directory has that name in another now.
    pub(super) fn now_at(&self, parent: i32, name: &OsStr) -> Result<NowAt, End> {
        let Some(directory) = self.open(parent)? else {
            return Ok(NowAt::Unknown);
        };
        let id = open_in(&directory, name).and_then(id_of);
        Ok(id.map_or(NowAt::NoDirectory, NowAt::Directory))
    }

    /// Watches the directory that has that name in another now, and puts it into the tree. Returns
    /// `None` if there is none that can be watched.
    ///
    /// A directory that the tree has elsewhere is forgotten, with everything below it, and is new.
    pub(super) fn find(
        &mut self,
        directory: BorrowedFd<'_>,
        parent: i32,
        name: &OsStr,
        mut changes: Option<&mut Changes<'_>>,
    ) -> Result<Option<(i32, Attached)>, End> {
        let opened = open_in(directory, name).and_then(|child| Ok((id_of(&child)?, child)));
        let (id, child) = match opened {
            Ok(opened) => opened,
            Err(errno) if is_gone(errno) => return Ok(None),
            Err(errno) => return Err(self.not_watched(parent, name, errno)),
        };
        let add = |watcher: &Self| match watcher.inotify.add(&child) {
            Ok(watch) => Ok(Some(watch)),
            Err(errno) if is_gone(errno) => Ok(None),
            Err(errno) => Err(watcher.not_watched(parent, name, errno)),
        };
        let Some(mut watch) = add(self)? else {
            return Ok(None);
        };
        let is_known = self.tree.id(watch).is_some();
        if is_known
            && self.tree.child(parent, name) != Some(watch)
            && self.tree.can_hold(parent, watch)
        {
            self.found_elsewhere(watch, changes.as_deref_mut())?;
            match add(self)? {
                Some(anew) => watch = anew,
                None => return Ok(None),
            }
        }
        if self.tree.child(parent, name).is_some_and(|old| old != watch) {
            self.forget(|tree| tree.detach(parent, name));
            // A rename that replaces a directory makes no event that the old one has left.
            if let Some(changes) = changes
                && let Some(directory) = self.tree.path(parent)
            {
                let path = directory.join(name);
                changes.add(ChangeKind::Removed, &[&path])?;
                changes.add(ChangeKind::Added, &[&path])?;
            }
        }
        Ok(Some((watch, self.tree.attach(parent, name, watch, id))))
    }

    /// Forgets a directory that has left its place, with everything below it.
    fn found_elsewhere(
        &mut self,
        watch: i32,
        changes: Option<&mut Changes<'_>>,
    ) -> Result<(), End> {
        // The next event about the place of a settled directory says that it has left. For another,
        // the next may be about a former holder of the name, and a file has nothing below it.
        if !self.tree.is_settled(watch)
            && let Some(changes) = changes
            && let Some(path) = self.tree.path(watch)
        {
            if let Some((parent, name)) = self.tree.place(watch) {
                self.take_found(parent, &name);
            }
            changes.add(ChangeKind::Removed, &[&path])?;
        }
        self.forget(|tree| tree.detach_watch(watch));
        Ok(())
    }

    fn not_watched(&self, parent: i32, name: &OsStr, errno: Errno) -> End {
        let path = self.tree.path(parent).unwrap_or_default().join(name);
        refused(&self.scope.root.join(path), errno)
    }

    /// Opens a directory that is watched, where it still has the path that is known.
    pub(super) fn open(&self, watch: i32) -> Result<Option<OwnedFd>, End> {
        let Some(path) = self.tree.path(watch) else {
            return Ok(None);
        };
        let opened = open_below(&self.scope.root, &path);
        match opened.and_then(|directory| Ok((id_of(&directory)?, directory))) {
            Ok((id, directory)) => Ok((Some(id) == self.tree.id(watch)).then_some(directory)),
            Err(errno) if is_gone(errno) => Ok(None),
            Err(errno) => Err(self.system(&path, errno)),
        }
    }

    /// Forgets directories. Those that are watched elsewhere are found anew there.
    pub(super) fn forget(&mut self, detach: impl FnOnce(&mut Tree) -> Vec<i32>) {
        for watch in detach(&mut self.tree) {
            self.inotify.remove(watch);
            self.unread.remove(&watch);
            if let Some(names) = self.found.remove(&watch) {
                self.found_count -= names.len();
            }
        }
    }
}

/// Whether a name in a directory is one itself.
fn is_directory(directory: BorrowedFd<'_>, name: &OsStr, kind: FileType) -> bool {
    match kind {
        FileType::Directory => true,
        // Some file systems don't tell.
        FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
        _ => false,
    }
}
