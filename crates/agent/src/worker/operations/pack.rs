use std::{
    ffi::{CString, OsStr, OsString},
    fs::File,
    io::{self, PipeWriter, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, Stat, fstat, major, minor, openat, readlinkat, statat},
    io::Errno,
    pipe::fcntl_setpipe_size,
};
use serde::{Deserialize, Serialize};
use tar::EntryType;

use crate::{
    ignore_patterns::IgnorePatterns,
    worker::{
        failure::Failure,
        metadata::{Attributes, Kind},
        named_path::NamedPath,
        operation::Operation,
        peer::Peer,
        place::{Links, Place, open_directory},
        tar::{AppendError, Ended, Writer, Written},
    },
};

/// How much of the stream waits to be read.
const PIPE: usize = 1024 * 1024;
/// How much is written to it at once.
const BUFFER: usize = 64 * 1024;
/// How often an entry is looked at that another one takes the place of.
const LOOKS: u32 = 100;

/// Writes a directory, or a file alone, as a tar stream: a pipe comes with the answer. At its end there is another answer: why not all is
/// in it, where the stream says so itself. It is an error where the stream can't.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pack {
    pub(crate) path: NamedPath,
    /// What is left out.
    pub(crate) exclude: IgnorePatterns,
}

/// What is packed.
enum Tree {
    Directory(Dir),
    Alone(Place),
}

/// A directory whose entries are being written.
struct Level {
    entries: Dir,
    /// Below the root.
    path: Vec<u8>,
}

/// What an entry is.
enum Found {
    Directory(OwnedFd),
    File(File),
    Symlink(CString),
    /// A FIFO or a device.
    Special(EntryType),
    /// It is there only while somebody listens.
    Socket,
}

/// Why not all is written.
enum NotPacked {
    /// Nobody reads it any more.
    Gone,
    Failed(Failure),
    /// The stream says why.
    Reported(Failure),
}

impl Operation for Pack {
    type Answer = ();

    fn run(self, peer: &mut Peer) -> Result<(), Failure> {
        let failed = |errno| Failure::reading(&self.path, errno);
        // A link to a directory is followed, as its listing does.
        let tree = match self.path.open(OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(root) => Tree::Directory(Dir::new(root).map_err(failed)?),
            Err(Errno::NOTDIR) => {
                let place = Place::find(&self.path, Links::Keep)?;
                place.stat()?.ok_or_else(|| failed(Errno::NOENT))?;
                Tree::Alone(place)
            }
            Err(errno) => return Err(failed(errno)),
        };
        let (reader, writer) = io::pipe().map_err(|_| failed(Errno::MFILE))?;
        // A user may have used up what there is for pipes.
        let _smaller = fcntl_setpipe_size(&writer, PIPE);
        peer.attach(reader.into());
        let gone = |_| failed(Errno::PIPE);
        peer.send(&Ok::<(), Failure>(())).map_err(gone)?;
        let root = match &tree {
            Tree::Directory(_) => &*self.path,
            Tree::Alone(_) => self.path.parent().unwrap_or(&self.path),
        };
        let packing = Packing {
            exclude: self.exclude,
            writer: Writer::new(io::BufWriter::with_capacity(BUFFER, writer)),
            root,
        };
        let reported = match packing.tree(tree) {
            Err(NotPacked::Failed(failure)) => return Err(failure),
            Err(NotPacked::Reported(failure)) => Some(failure),
            Ok(()) | Err(NotPacked::Gone) => None,
        };
        peer.send(&Ok::<Option<Failure>, Failure>(reported)).map_err(gone)
    }
}

struct Packing<'a> {
    exclude: IgnorePatterns,
    writer: Writer<io::BufWriter<PipeWriter>>,
    /// What the paths of entries are below.
    root: &'a Path,
}

impl Packing<'_> {
    fn tree(mut self, tree: Tree) -> Result<(), NotPacked> {
        let directory = match &tree {
            Tree::Directory(root) => root.stat(),
            Tree::Alone(place) => fstat(&place.directory),
        };
        let directory = directory.map_err(|errno| self.failed(b"", errno))?;
        let packed = match tree {
            Tree::Directory(root) => self.directory(root),
            Tree::Alone(place) => self.alone(&place),
        };
        let gone = |_| NotPacked::Gone;
        let Err(NotPacked::Failed(failure)) = packed else {
            packed?;
            return self.writer.finish().map_err(gone);
        };
        let status = failure.kind.status().as_u16();
        let attributes = Attributes::of(&directory);
        let ended = self.writer.fail(status, &failure.message, &attributes).map_err(gone)?;
        Err(match ended {
            Ended::Reported => NotPacked::Reported(failure),
            Ended::InsideEntry => NotPacked::Failed(failure),
        })
    }

    fn alone(&mut self, place: &Place) -> Result<(), NotPacked> {
        let name = place.name.as_bytes();
        match self.entry(place.directory.as_fd(), &place.name, name)? {
            None => Ok(()),
            // It was no directory when the answer began.
            Some(_) => Err(self.failed(name, Errno::ISDIR)),
        }
    }

    fn directory(&mut self, root: Dir) -> Result<(), NotPacked> {
        let mut levels = vec![Level { entries: root, path: Vec::new() }];
        while let Some(level) = levels.last_mut() {
            let name = match level.entries.next() {
                Some(Ok(entry)) => OsString::from_vec(entry.file_name().to_bytes().to_vec()),
                Some(Err(errno)) => return Err(self.failed(&level.path, errno)),
                None => {
                    levels.pop();
                    continue;
                }
            };
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            let path = match level.path.as_slice() {
                b"" => name.as_bytes().to_vec(),
                above => [above, b"/", name.as_bytes()].concat(),
            };
            if self.exclude.matches(&path) {
                continue;
            }
            let at = level.entries.fd().map_err(|errno| self.failed(&path, errno))?;
            if let Some(entries) = self.entry(at, &name, &path)? {
                levels.push(Level { entries, path });
            }
        }
        Ok(())
    }

    /// Writes an entry; returns a directory, whose entries come next. What is gone by now is passed over.
    fn entry(
        &mut self,
        at: BorrowedFd<'_>,
        name: &OsStr,
        path: &[u8],
    ) -> Result<Option<Dir>, NotPacked> {
        let Some((stat, found)) = self.find(at, name, path)? else { return Ok(None) };
        match found {
            Found::Directory(directory) => {
                let named = [path, b"/"].concat();
                self.write(&named, EntryType::Directory, &stat, b"", io::empty())?;
                return Dir::new(directory).map(Some).map_err(|errno| self.failed(path, errno));
            }
            Found::File(file) => self.write(path, EntryType::Regular, &stat, b"", file)?,
            Found::Symlink(link) => {
                self.write(path, EntryType::Symlink, &stat, link.to_bytes(), io::empty())?;
            }
            Found::Special(kind) => self.write(path, kind, &stat, b"", io::empty())?,
            Found::Socket => {}
        }
        Ok(None)
    }

    /// Looks at an entry until it is opened as what it is: another may take its place in between. None where it is gone.
    fn find(
        &self,
        at: BorrowedFd<'_>,
        name: &OsStr,
        path: &[u8],
    ) -> Result<Option<(Stat, Found)>, NotPacked> {
        let mut looks = 1;
        loop {
            match look(at, name) {
                Ok(found) => return Ok(Some(found)),
                Err(Errno::NOENT) => return Ok(None),
                // What is said of something else (open(2), readlink(2)).
                Err(Errno::LOOP | Errno::NOTDIR | Errno::INVAL | Errno::NXIO) if looks < LOOKS => {
                    looks += 1;
                }
                Err(errno) => return Err(self.failed(path, errno)),
            }
        }
    }

    fn write(
        &mut self,
        path: &[u8],
        kind: EntryType,
        stat: &Stat,
        link: &[u8],
        content: impl Read,
    ) -> Result<(), NotPacked> {
        let attributes = Attributes::of(stat);
        let is_device = matches!(kind, EntryType::Block | EntryType::Char);
        let entry = Written {
            path,
            kind,
            mode: attributes.mode,
            modified: attributes.modified,
            link,
            size: if kind == EntryType::Regular { attributes.size } else { 0 },
            device: is_device.then(|| (major(stat.st_rdev), minor(stat.st_rdev))),
        };
        self.writer.append(&entry, content).map_err(|error| match error {
            AppendError::Write(_) => NotPacked::Gone,
            AppendError::Read(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let path = self.root.join(OsStr::from_bytes(path));
                NotPacked::Failed(Failure::conflict(&path, "became shorter while it was read"))
            }
            AppendError::Read(error) => {
                self.failed(path, Errno::from_io_error(&error).unwrap_or(Errno::IO))
            }
        })
    }

    fn failed(&self, path: &[u8], errno: Errno) -> NotPacked {
        NotPacked::Failed(Failure::system(&self.root.join(OsStr::from_bytes(path)), errno))
    }
}

/// Looks at an entry, and opens what has to be read of it.
fn look(at: BorrowedFd<'_>, name: &OsStr) -> Result<(Stat, Found), Errno> {
    let stat = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let found = match Kind::of(&stat) {
        Kind::Directory => {
            let directory = open_directory(at, name)?;
            return Ok((fstat(&directory)?, Found::Directory(directory)));
        }
        Kind::File => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = openat(at, name, flags, Mode::empty())?;
            let stat = fstat(&file)?;
            if Kind::of(&stat) != Kind::File {
                return Err(Errno::INVAL);
            }
            return Ok((stat, Found::File(file.into())));
        }
        Kind::Symlink => Found::Symlink(readlinkat(at, name, Vec::new())?),
        Kind::Fifo => Found::Special(EntryType::Fifo),
        Kind::Device => match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
            rustix::fs::FileType::BlockDevice => Found::Special(EntryType::Block),
            _ => Found::Special(EntryType::Char),
        },
        Kind::Socket => Found::Socket,
    };
    Ok((stat, found))
}
