use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufReader, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens,
        linkat, makedev, mkdirat, mknodat, renameat, statat, symlinkat, unlinkat, utimensat,
    },
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::worker::{
    beneath::{Beneath, Missing},
    failure::{Failure, FailureKind},
    metadata::{Kind, Time},
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    tar::{Entry, EntryKind, Reader, TarError},
    temporary::{self, Temporary},
    unfinished::unfinished,
};

/// How much of the stream is read at once.
const BUFFER: usize = 256 * 1024;
/// Of how many directories mode and time are set when all is in them; those of more are set when they are made.
const MAX_DIRECTORIES: usize = 100_000;

/// Unpacks a tar stream into a directory that is there: what it is read from comes with the request. Each file takes its place as a
/// whole. Nothing is made or changed outside of the directory, whatever the stream says and whatever is done to the directory meanwhile.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Unpack {
    pub(crate) path: NamedPath,
    /// The most bytes of a file, where there is a limit.
    pub(crate) max_size: Option<u64>,
}

/// What was unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unpacked {
    /// How many files, links and the like; directories don't count.
    pub(crate) files: u64,
    /// How many bytes are in them.
    pub(crate) bytes: u64,
}

impl Operation for Unpack {
    type Answer = Unpacked;

    fn run(self, peer: &mut Peer) -> Result<Unpacked, Failure> {
        let failed = |errno| Failure::system(&self.path, errno);
        let stream = peer.take_descriptor().ok_or_else(|| failed(Errno::BADF))?;
        let root = self.path.open(OFlags::PATH | OFlags::DIRECTORY).map_err(failed)?;
        let mut unpacking = Unpacking {
            path: &self.path,
            makes_devices: !self.path.is_confined(),
            max_size: self.max_size,
            beneath: Beneath::new(root),
            reader: Reader::new(BufReader::with_capacity(BUFFER, File::from(stream))),
            buffer: vec![0; BUFFER],
            directories: Vec::new(),
            unpacked: Unpacked::default(),
        };
        let outcome = unpacking.run();
        // Also of those that are complete before something else fails.
        unpacking.finish_directories();
        outcome.map(|()| unpacking.unpacked)
    }
}

struct Unpacking<'a> {
    path: &'a Path,
    /// A device leads out of every directory.
    makes_devices: bool,
    max_size: Option<u64>,
    beneath: Beneath,
    reader: Reader<BufReader<File>>,
    buffer: Vec<u8>,
    /// Those that were made or named, with what they are to be like.
    directories: Vec<(PathBuf, u32, Time)>,
    unpacked: Unpacked,
}

/// Why an entry is not unpacked.
enum NotUnpacked {
    System(Errno),
    Tar(TarError),
}

impl From<Errno> for NotUnpacked {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

impl Unpacking<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        while let Some(entry) = self.reader.next().map_err(|error| tar_failure(&error))? {
            let path = inside(&entry.path)?;
            self.entry(&path, &entry).map_err(|what| match what {
                NotUnpacked::System(errno) => self.failed(&path, errno),
                NotUnpacked::Tar(error) => tar_failure(&error),
            })?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, entry: &Entry) -> Result<(), NotUnpacked> {
        let Some(name) = path.file_name() else {
            // The directory itself, which is as it is.
            return Ok(());
        };
        let above = path.parent().unwrap_or(Path::new(""));
        let directory = self.beneath.directory(above, Missing::Make)?;
        match &entry.kind {
            EntryKind::Directory => {
                return Ok(self.directory(&directory, name, path, entry)?);
            }
            EntryKind::File => self.file(&directory, above, name, entry)?,
            EntryKind::Symlink(target) => {
                let target = OsStr::from_bytes(target);
                put(&directory, name, |name| symlinkat(target, &directory, name))?;
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                // Some systems keep no times of links.
                let _unknown = utimensat(&directory, name, &times(entry.modified), flags);
            }
            EntryKind::HardLink(target) => {
                let target = inside(target).map_err(|_| Errno::XDEV)?;
                let (Some(of), Some(above)) = (target.file_name(), target.parent()) else {
                    return Err(Errno::ISDIR.into());
                };
                let from = self.beneath.directory(above, Missing::Refuse)?;
                put(&directory, name, |name| {
                    linkat(&from, of, &directory, name, AtFlags::empty())
                })?;
            }
            EntryKind::Characters(..) | EntryKind::Blocks(..) if !self.makes_devices => {
                return Err(Errno::XDEV.into());
            }
            EntryKind::Fifo => node(&directory, name, FileType::Fifo, 0, entry)?,
            EntryKind::Characters(major, minor) => {
                node(&directory, name, FileType::CharacterDevice, makedev(*major, *minor), entry)?;
            }
            EntryKind::Blocks(major, minor) => {
                node(&directory, name, FileType::BlockDevice, makedev(*major, *minor), entry)?;
            }
        }
        self.unpacked.files += 1;
        Ok(())
    }

    fn directory(
        &mut self,
        above: &OwnedFd,
        name: &OsStr,
        path: &Path,
        entry: &Entry,
    ) -> Result<(), Errno> {
        match mkdirat(above, name, Mode::from_raw_mode(entry.mode & 0o777 | 0o700)) {
            Ok(()) => {}
            // One that is there, also by a link, is that one.
            Err(Errno::EXIST) => {
                drop(self.beneath.directory(path, Missing::Refuse)?);
                self.let_owner_write(path);
            }
            Err(errno) => return Err(errno),
        }
        if self.directories.len() < MAX_DIRECTORIES {
            self.directories.push((path.to_owned(), entry.mode, entry.modified));
        }
        Ok(())
    }

    /// What comes in a directory may be made, although its owner may not write it: that it has at the end.
    fn let_owner_write(&self, path: &Path) {
        if self.directories.len() >= MAX_DIRECTORIES {
            return;
        }
        if let Ok(directory) = self.beneath.readable(path)
            && let Ok(found) = fstat(&directory)
            && found.st_mode & 0o300 != 0o300
        {
            // Of another owner's it stays as it is, and what is made in it fails.
            let _refused = fchmod(&directory, Mode::from_raw_mode(found.st_mode & 0o7777 | 0o300));
        }
    }

    /// Writes a file, and puts it in its place when all of it is there.
    fn file(
        &mut self,
        directory: &OwnedFd,
        above: &Path,
        name: &OsStr,
        entry: &Entry,
    ) -> Result<(), NotUnpacked> {
        if self.max_size.is_some_and(|max| entry.size > max) {
            return Err(Errno::FBIG.into());
        }
        let path = self.path.join(above).join(temporary::random_name()?);
        let (file, temporary) = temporary::make(directory, path, 0o600)?;
        let placed = self.content(&file, entry).and_then(|()| {
            fchmod(&file, Mode::from_raw_mode(entry.mode & 0o777))?;
            futimens(&file, &times(entry.modified))?;
            Ok(place(&file, &temporary, directory, name)?)
        });
        if placed.is_err() && temporary.is_named {
            let _gone = temporary::remove(&temporary.path);
        }
        placed?;
        self.unpacked.bytes += entry.size;
        Ok(())
    }

    fn content(&mut self, file: &OwnedFd, entry: &Entry) -> Result<(), NotUnpacked> {
        let mut file = File::from(file.try_clone().map_err(|_| Errno::MFILE)?);
        let mut left = entry.size;
        while left > 0 {
            let count = match self.reader.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(NotUnpacked::Tar(TarError::Cut("in the middle of a file")));
                }
                Err(error) => return Err(NotUnpacked::Tar(TarError::Io(error))),
                Ok(count) => count,
            };
            let bytes = self.buffer.get(..count).unwrap_or_default();
            let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
            file.write_all(bytes).map_err(errno)?;
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }

    /// Gives directories their modes and times, those below first. Others may have done something to them.
    fn finish_directories(&mut self) {
        for (path, mode, modified) in self.directories.drain(..).rev() {
            if let Ok(directory) = self.beneath.readable(&path) {
                let _changed = futimens(&directory, &times(modified));
                let _changed = fchmod(&directory, Mode::from_raw_mode(mode & 0o1777));
            }
        }
    }

    fn failed(&self, path: &Path, errno: Errno) -> Failure {
        let path = self.path.join(path);
        match errno {
            Errno::XDEV => {
                Failure::invalid(&path, "leads out of the directory that is unpacked into")
            }
            Errno::ISDIR => Failure::conflict(&path, "is a directory"),
            errno => Failure::system(&path, errno),
        }
    }
}

/// The path of an entry below the directory. As tar has it, a slash at its beginning means nothing.
fn inside(path: &[u8]) -> Result<PathBuf, Failure> {
    let mut inside = PathBuf::new();
    let parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    for part in parts {
        if part == b".." || part.contains(&0) {
            let path = Path::new(OsStr::from_bytes(path));
            return Err(Failure::invalid(path, "leads out of the directory that is unpacked into"));
        }
        inside.push(OsStr::from_bytes(part));
    }
    Ok(inside)
}

fn tar_failure(error: &TarError) -> Failure {
    Failure::new(FailureKind::Invalid, error.to_string())
}

fn times(modified: Time) -> Timestamps {
    let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let tv_nsec = i64::from(modified.nanoseconds.min(999_999_999));
    // The types of these fields differ by machine.
    #[allow(clippy::useless_conversion)]
    let modified = Timespec { tv_sec: modified.seconds.into(), tv_nsec: tv_nsec.into() };
    Timestamps { last_access: omitted, last_modification: modified }
}

fn place(
    file: &OwnedFd,
    temporary: &Temporary,
    directory: &OwnedFd,
    name: &OsStr,
) -> Result<(), Errno> {
    let _unfinished = unfinished();
    match temporary::link(file.as_fd(), temporary, directory, name) {
        Err(Errno::EXIST) => temporary::replace(file.as_fd(), temporary, directory, name),
        linked => linked,
    }
}

/// Makes what is no file, in place of what is there: never of a directory.
fn put(
    directory: &OwnedFd,
    name: &OsStr,
    make: impl Fn(&OsStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let _unfinished = unfinished();
    let first = make(name);
    if first != Err(Errno::EXIST) {
        return first;
    }
    let there = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Kind::of(&there) == Kind::Directory {
        return Err(Errno::ISDIR);
    }
    let between: OsString = temporary::random_name()?;
    make(&between)?;
    let placed = renameat(directory, &between, directory, name);
    // Of two links to one file a rename leaves both (rename(2)).
    let _gone = unlinkat(directory, &between, AtFlags::empty());
    placed
}

fn node(
    directory: &OwnedFd,
    name: &OsStr,
    kind: FileType,
    device: u64,
    entry: &Entry,
) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(entry.mode & 0o777);
    put(directory, name, |name| mknodat(directory, name, kind, mode, device))
}
