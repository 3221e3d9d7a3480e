use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, OFlags, statat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::{Failure, FailureKind},
    metadata::{Kind, Metadata},
    named_path::{NamedPath, Reach},
    operation::Operation,
    path_bytes,
    peer::Peer,
    place::open_directory,
};

/// The most entries of one list.
pub(crate) const MAX_ENTRIES: usize = 100_000;
/// How many entries are sent together.
const BATCH: usize = 128;

/// Lists what is in a directory: names in the order of their bytes, what is below a directory right behind it. The answer comes when
/// all have been found; then [`ListBatch`]es do, the last of which is empty.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct List {
    pub(crate) path: NamedPath,
    /// How far down it goes: 1 for what is in the directory itself.
    pub(crate) depth: u32,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ListBatch(pub(crate) Vec<ListEntry>);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListEntry {
    /// Below the directory that is listed.
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
    pub(crate) metadata: Metadata,
}

/// A directory whose entries are being taken.
struct Level {
    directory: OwnedFd,
    /// The last one first.
    names: Vec<(OsString, bool)>,
    path: PathBuf,
}

impl Operation for List {
    type Answer = ();

    fn run(self, peer: &mut Peer) -> Result<(), Failure> {
        let gone = |_| Failure::system(&self.path, Errno::PIPE);
        let failed = |errno| match errno {
            Errno::NOTDIR => Failure::invalid(&self.path, "is no directory"),
            errno => Failure::reading(&self.path, errno),
        };
        let reach = self.path.reach().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let root = reach.open(&self.path, flags).map_err(failed)?;
        let paths = self.find(root.try_clone().map_err(|_| failed(Errno::MFILE))?)?;
        peer.send(&Ok::<(), Failure>(())).map_err(gone)?;
        for paths in paths.chunks(BATCH) {
            let entry = |path: &PathBuf| {
                let metadata = match &reach {
                    Reach::Anywhere => Metadata::of(&root, path.as_os_str()),
                    beneath @ Reach::Beneath { .. } => beneath.metadata(&self.path.join(path)),
                };
                // What is gone by now is not told.
                Some(ListEntry { path: path.clone(), metadata: metadata.ok()? })
            };
            let batch = ListBatch(paths.iter().filter_map(entry).collect());
            if !batch.0.is_empty() {
                peer.send(&batch).map_err(gone)?;
            }
        }
        peer.send(&ListBatch::default()).map_err(gone)
    }
}

impl List {
    /// The paths of all entries, below the directory.
    fn find(&self, root: OwnedFd) -> Result<Vec<PathBuf>, Failure> {
        let at = |path: &Path, errno| Failure::reading(&self.path.join(path), errno);
        let mut found = Vec::new();
        let own = names(&root).map_err(|errno| at(Path::new(""), errno))?;
        let mut levels = vec![Level { directory: root, names: own, path: PathBuf::new() }];
        while let Some(level) = levels.last_mut() {
            let Some((name, is_directory)) = level.names.pop() else {
                levels.pop();
                continue;
            };
            let path = level.path.join(&name);
            if found.len() == MAX_ENTRIES {
                let message = format!(
                    "{} has more than {MAX_ENTRIES} entries, the most that are listed at once: ask for less \
                     (depth), or list what is below one after the other",
                    self.path.display()
                );
                return Err(Failure::new(FailureKind::TooLarge, message));
            }
            found.push(path.clone());
            let depth = u32::try_from(levels.len()).unwrap_or(u32::MAX);
            let Some(level) = levels.last() else { break };
            if !is_directory || depth >= self.depth {
                continue;
            }
            let directory = match open_directory(&level.directory, &name) {
                Ok(directory) => directory,
                // It was replaced or removed meanwhile.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(errno) => return Err(at(&path, errno)),
            };
            let below = names(&directory).map_err(|errno| at(&path, errno))?;
            levels.push(Level { directory, names: below, path });
        }
        Ok(found)
    }
}

/// The names in a directory, the last one first, and whether each is a directory.
fn names(directory: impl AsFd) -> Result<Vec<(OsString, bool)>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if matches!(name.as_bytes(), b"." | b"..") {
            continue;
        }
        // Neither is more kept than may be told.
        if names.len() > MAX_ENTRIES {
            break;
        }
        let is_directory = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| Kind::of(&stat) == Kind::Directory),
            _ => false,
        };
        names.push((OsString::from_vec(name.as_bytes().to_vec()), is_directory));
    }
    names.sort_by(|(one, _), (other, _)| other.as_bytes().cmp(one.as_bytes()));
    Ok(names)
}
