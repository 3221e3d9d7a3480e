use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::BorrowedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, Mode, fchmod, unlinkat},
    io::Errno,
};

use super::{failure::Failure, place::open_directory};

/// How often a directory is read again to which somebody adds something meanwhile.
const ROUNDS: u32 = 8;

/// Directories in which the user may not write, as a tree is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOnly {
    /// Their entries can't be removed, as with `rm -r`.
    Refuse,
    /// They are made writable first: the tree has a complete copy, or is an incomplete one.
    MakeWritable,
}

/// A directory that is being emptied.
struct Level {
    entries: Dir,
    name: OsString,
    rounds: u32,
}

/// The directories from the one that is removed down to the one that is being emptied.
struct Removal<'a> {
    /// Where the first one is.
    directory: BorrowedFd<'a>,
    path: &'a Path,
    read_only: ReadOnly,
    levels: Vec<Level>,
}

/// Removes a directory with all that is in it. It goes by descriptors: a link that takes the place of a directory meanwhile is removed,
/// and not followed.
///
/// # Errors
/// With the path of what can't be removed. What was removed before stays so.
pub(super) fn remove_tree(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
    read_only: ReadOnly,
) -> Result<(), Failure> {
    let mut tree = Removal { directory, path, read_only, levels: Vec::new() };
    tree.enter(name.to_owned())?;
    while let Some(level) = tree.levels.last_mut() {
        match level.entries.next() {
            Some(Ok(entry)) => {
                let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
                if !matches!(name.as_bytes(), b"." | b"..") {
                    tree.remove_entry(name)?;
                }
            }
            Some(Err(errno)) => return Err(tree.failed(OsStr::new(""), errno)),
            None => tree.leave()?,
        }
    }
    Ok(())
}

impl Removal<'_> {
    /// Where the names are that come next.
    fn at(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.levels.last().map_or(Ok(self.directory), |level| level.entries.fd())
    }

    /// Removes what is no directory; begins with what is one.
    fn remove_entry(&mut self, name: OsString) -> Result<(), Failure> {
        let removed = self.at().and_then(|at| unlinkat(at, &name, AtFlags::empty()));
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(Errno::ISDIR) => self.enter(name),
            Err(errno) => Err(self.failed(&name, errno)),
        }
    }

    fn enter(&mut self, name: OsString) -> Result<(), Failure> {
        let opened = self.at().and_then(|at| open_directory(at, &name));
        if let (ReadOnly::MakeWritable, Ok(directory)) = (self.read_only, &opened) {
            // Where it is somebody else's, its entries say so.
            let _not_owned = fchmod(directory, Mode::RWXU);
        }
        match opened.and_then(Dir::new) {
            Ok(entries) => self.levels.push(Level { entries, name, rounds: 0 }),
            // It is a link by now, or gone: it is found when what is above can't be removed.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !self.levels.is_empty() => {}
            Err(errno) => return Err(self.failed(&name, errno)),
        }
        Ok(())
    }

    /// Removes the directory that was emptied.
    fn leave(&mut self) -> Result<(), Failure> {
        let Some(mut level) = self.levels.pop() else { return Ok(()) };
        match self.at().and_then(|at| unlinkat(at, &level.name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => {}
            // It is a link by now: as above.
            Err(Errno::NOTDIR) if !self.levels.is_empty() => {}
            // What was added meanwhile, or was not told while others were removed.
            Err(Errno::NOTEMPTY | Errno::EXIST) if level.rounds < ROUNDS => {
                level.entries.rewind();
                level.rounds += 1;
                self.levels.push(level);
            }
            Err(errno) => return Err(self.failed(&level.name, errno)),
        }
        Ok(())
    }

    fn failed(&self, name: &OsStr, errno: Errno) -> Failure {
        let mut path = self.path.to_owned();
        path.extend(self.levels.iter().skip(1).map(|level| &level.name));
        if !self.levels.is_empty() && !name.is_empty() {
            path.push(name);
        }
        Failure::system(&path, errno)
    }
}
