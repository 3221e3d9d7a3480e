use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::{
    changes::{ChangeKind, Changes, Tell},
    disk::{id_of, is_dots, open_below, open_in},
    end::{End, is_gone, refused},
    tree::{Attached, FileId, Tree},
    watcher::Watcher,
};

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
            // Where it can't be found, an event tells what has become of it, and it is read then.
            let (Some(directory), Some(path)) = (self.open(watch)?, self.tree.path(watch)) else {
                if tell != Tell::Nothing && self.tree.id(watch).is_some() {
                    self.untold.insert(watch);
                }
                continue;
            };
            let tell = match tell {
                Tell::New if self.untold.contains(&watch) => Tell::All,
                tell => tell,
            };
            self.untold.remove(&watch);
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
                    self.watch_in(directory, watch, name)?
                } else {
                    None
                };
                let attached =
                    found.map(|(child, id)| (child, self.attach(watch, name, child, id)));
                let is_new = attached.is_none_or(|(_, attached)| attached != Attached::Known);
                if let Some(changes) = changes.as_deref_mut()
                    && (tell == Tell::All || tell == Tell::New && attached.is_some() && is_new)
                {
                    self.add_found(watch, name);
                    changes.add(ChangeKind::Added, &[&path])?;
                }
                // What is found in itself, as by a bind mount, is not read for ever.
                if let Some((child, attached)) = attached
                    && attached != Attached::Contradiction
                {
                    let tells_all = tell == Tell::New && is_new;
                    next.push((child, if tells_all { Tell::All } else { tell }));
                }
            }
        }
        Ok(())
    }

    /// What stands for the directory that has that name in another now.
    pub(super) fn id_at(&self, parent: i32, name: &OsStr) -> Result<Option<FileId>, End> {
        let directory = self.open(parent)?;
        Ok(directory.and_then(|directory| open_in(&directory, name).and_then(id_of).ok()))
    }

    /// Watches the directory that has that name in another now; `None` where there is none that can be.
    pub(super) fn watch_at(&self, parent: i32, name: &OsStr) -> Result<Option<(i32, FileId)>, End> {
        if !self.scope.recursive {
            return Ok(None);
        }
        match self.open(parent)? {
            Some(directory) => self.watch_in(directory.as_fd(), parent, name),
            None => Ok(None),
        }
    }

    pub(super) fn watch_in(
        &self,
        directory: BorrowedFd<'_>,
        parent: i32,
        name: &OsStr,
    ) -> Result<Option<(i32, FileId)>, End> {
        let opened = open_in(directory, name).and_then(|child| Ok((id_of(&child)?, child)));
        match opened.and_then(|(id, child)| Ok((self.inotify.add(&child)?, id))) {
            Ok(added) => Ok(Some(added)),
            Err(errno) if is_gone(errno) => Ok(None),
            Err(errno) => {
                let path = self.tree.path(parent).unwrap_or_default().join(name);
                Err(refused(&self.scope.root.join(path), errno))
            }
        }
    }

    /// Takes note of where a directory was found. Another that was known to be there is not there any more.
    pub(super) fn attach(&mut self, parent: i32, name: &OsStr, watch: i32, id: FileId) -> Attached {
        if self.tree.child(parent, name).is_some_and(|old| old != watch) {
            self.forget(|tree| tree.detach(parent, name));
        }
        self.tree.attach(parent, name, watch, id)
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

    pub(super) fn forget(&mut self, detach: impl FnOnce(&mut Tree) -> Vec<i32>) {
        for watch in detach(&mut self.tree) {
            self.inotify.remove(watch);
            self.untold.remove(&watch);
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
