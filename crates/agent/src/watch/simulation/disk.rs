use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::random::Random;
use crate::ignore_patterns::IgnorePatterns;

/// Log of the changes on disk and of those that the client received, in order.
pub(super) type Log = Rc<RefCell<Vec<String>>>;

/// A watched directory, and one outside of it that entries are moved to and from.
pub(super) struct Disk {
    pub(super) root: PathBuf,
    pub(super) outside: PathBuf,
    random: Random,
    /// Number of changes that may still be made.
    pub(super) left: usize,
    pub(super) log: Log,
}

impl Disk {
    pub(super) fn new(root: PathBuf, outside: PathBuf, seed: u64, log: Log) -> Self {
        Self { root, outside, random: Random::new(seed), left: 0, log }
    }

    /// Makes, moves, exchanges or removes something of a few names.
    pub(super) fn change(&mut self) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let (one, other) = (self.path(), self.path());
        let outside = self.outside.join(self.random.name());
        // Files stay empty: ext4 writes the contents of a file to disk when it replaces another.
        let (verb, done) = match self.random.below(16) {
            0..=3 => ("mkdir", fs::create_dir_all(&one)),
            4 => ("write", fs::write(&one, "")),
            5..=9 => ("rename", fs::rename(&one, &other)),
            10 => ("exchange", exchange(&one, &other)),
            11 => ("unlink", fs::remove_file(&one)),
            12 => ("rm -r", fs::remove_dir_all(&one)),
            13 => ("move out", fs::rename(&one, &outside)),
            14 => ("move in", fs::rename(&outside, &one)),
            _ => ("write outside", fs::write(outside.join("a"), "")),
        };
        // Most fail.
        if done.is_ok() {
            self.log.borrow_mut().push(format!("{verb}: {one:?}, {other:?}, {outside:?}"));
        }
    }

    fn path(&mut self) -> PathBuf {
        let depth = self.random.below(3) + 1;
        (0..depth).fold(self.root.clone(), |path, _| path.join(self.random.name()))
    }
}

/// Exchanges two entries in one step.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

/// Lists all entries below a directory that are not ignored, and those that are directories.
pub(super) fn found(
    root: &Path,
    ignore: &IgnorePatterns,
) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let (mut found, mut directories) = (BTreeSet::new(), BTreeSet::from([root.to_owned()]));
    let mut next = vec![root.to_owned()];
    while let Some(directory) = next.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if ignore.matches(path.strip_prefix(root).unwrap().as_os_str().as_bytes()) {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                directories.insert(path.clone());
                next.push(path.clone());
            }
            found.insert(path);
        }
    }
    (found, directories)
}
