use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, Dir, Mode, OFlags, Stat, copy_file_range, fchmod, fstat, mkdirat, openat,
        readlinkat, statat, symlinkat,
    },
    io::Errno,
};

use super::{failure::Failure, metadata::Kind, place::open_directory};

/// How much is copied at once where the system does not do it by itself.
const BUFFER: usize = 256 * 1024;
/// How much the system is asked to copy at once.
const RANGE: usize = 64 * 1024 * 1024;

/// A directory whose entries are being copied.
struct Level {
    entries: Dir,
    copy: OwnedFd,
    /// The permission bits that it has when it is complete, where the user could not write into it with them.
    mode: Option<Mode>,
    name: OsString,
}

/// Copies a directory with all that is in it into one that is new: links as links. It goes by descriptors, as its removal does.
///
/// # Errors
/// With the path of what can't be copied. What was copied before stays.
pub(super) fn copy_tree(
    source: OwnedFd,
    (directory, name): (BorrowedFd<'_>, &OsStr),
    path: &Path,
) -> Result<(), Failure> {
    let at = |errno| Failure::system(path, errno);
    let stat = fstat(&source).map_err(at)?;
    let (copy, mode) = make_directory(directory, name, &stat).map_err(at)?;
    let own = fstat(&copy).map_err(at)?;
    let entries = Dir::new(source).map_err(at)?;
    let mut levels = vec![Level { entries, copy, mode, name: OsString::new() }];
    while let Some(level) = levels.last_mut() {
        let name = match level.entries.next() {
            Some(Ok(entry)) => OsString::from_vec(entry.file_name().to_bytes().to_vec()),
            Some(Err(errno)) => return Err(at(errno)),
            None => {
                let complete = level.mode.map(|mode| fchmod(&level.copy, mode)).transpose();
                complete.map_err(at)?;
                levels.pop();
                continue;
            }
        };
        if matches!(name.as_bytes(), b"." | b"..") {
            continue;
        }
        match copy_entry(level, &name, &own) {
            Ok(None) => {}
            Ok(Some(below)) => levels.push(below),
            Err(what) => {
                let mut path = path.to_owned();
                path.extend(levels.iter().skip(1).map(|level| &level.name));
                path.push(&name);
                return Err(match what {
                    NotCopied::System(errno) => Failure::system(&path, errno),
                    NotCopied::Special(kind) => not_copied(&path, kind),
                });
            }
        }
    }
    Ok(())
}

/// Why an entry is not copied.
enum NotCopied {
    System(Errno),
    Special(Kind),
}

impl From<Errno> for NotCopied {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

/// What has no content that could be copied.
pub(super) fn not_copied(path: &Path, kind: Kind) -> Failure {
    Failure::invalid(path, &format!("{}, which has no content to copy", kind.described()))
}

/// Copies one; returns a directory, whose entries are still to be copied. The copy itself is passed over.
fn copy_entry(level: &Level, name: &OsStr, own: &Stat) -> Result<Option<Level>, NotCopied> {
    let source = level.entries.fd()?;
    let stat = statat(source, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match Kind::of(&stat) {
        Kind::Directory => {
            let source = open_directory(source, name)?;
            let stat = fstat(&source)?;
            if (stat.st_dev, stat.st_ino) == (own.st_dev, own.st_ino) {
                return Ok(None);
            }
            let (copy, mode) = make_directory(level.copy.as_fd(), name, &stat)?;
            Ok(Some(Level { entries: Dir::new(source)?, copy, mode, name: name.to_owned() }))
        }
        Kind::Symlink => {
            copy_link(source, name, (level.copy.as_fd(), name))?;
            Ok(None)
        }
        Kind::File => {
            let (source, mode) = open_file(source, name)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let copy = openat(&level.copy, name, flags, Mode::from_raw_mode(mode))?;
            copy_content(source, copy)?;
            Ok(None)
        }
        kind => Err(NotCopied::Special(kind)),
    }
}

/// Opens a regular file for reading; returns its permission bits, too.
pub(super) fn open_file(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(OwnedFd, u32), Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    // Something else was put there meanwhile.
    if Kind::of(&stat) != Kind::File {
        return Err(Errno::INVAL);
    }
    Ok((file, stat.st_mode & 0o777))
}

pub(super) fn copy_link(
    source: BorrowedFd<'_>,
    name: &OsStr,
    (directory, copy): (BorrowedFd<'_>, &OsStr),
) -> Result<(), Errno> {
    let link = readlinkat(source, name, Vec::new())?;
    symlinkat(link, directory, copy)
}

/// Makes one like another, in which its user may write until it is complete.
fn make_directory(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    like: &Stat,
) -> Result<(OwnedFd, Option<Mode>), Errno> {
    let mode = like.st_mode & 0o777;
    mkdirat(directory, name, Mode::from_raw_mode(mode | 0o700))?;
    let copy = open_directory(directory, name)?;
    let complete = (mode & 0o700 != 0o700).then(|| Mode::from_raw_mode(mode));
    Ok((copy, complete))
}

/// Copies all that is in a file.
pub(super) fn copy_content(source: OwnedFd, copy: OwnedFd) -> Result<(), Errno> {
    // Some systems and file systems can't, of files in `/proc` it sees nothing: the rest is copied here, if there is any.
    while copy_file_range(&source, None, &copy, None, RANGE).is_ok_and(|count| count > 0) {}
    let (mut source, mut copy) = (std::fs::File::from(source), std::fs::File::from(copy));
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // What has no end has nothing more now.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(errno(&error)),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        copy.write_all(bytes).map_err(|error| errno(&error))?;
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Whether a directory is another one, or is in it.
pub(super) fn is_within(directory: BorrowedFd<'_>, outer: &Stat) -> Result<bool, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(directory, ".", flags, Mode::empty())?;
    loop {
        let stat = fstat(&at)?;
        if (stat.st_dev, stat.st_ino) == (outer.st_dev, outer.st_ino) {
            return Ok(true);
        }
        let above = openat(&at, "..", flags, Mode::empty())?;
        let next = fstat(&above)?;
        if (stat.st_dev, stat.st_ino) == (next.st_dev, next.st_ino) {
            return Ok(false);
        }
        at = above;
    }
}
