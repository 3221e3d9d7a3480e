use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::path_bytes;

/// How the name of a temporary file begins.
const PREFIX: &str = ".sandpipe-";

/// Those temporary files that have a name, until they have their own.
static NAMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The name of a temporary file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Temporary {
    /// Where it is, or where it is for one more system call while it takes the place of another.
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
    /// Whether it has that name. Else it is gone when nobody has it open any more.
    pub(crate) is_named: bool,
}

/// Makes a file without a name in a directory, where it would have that path: when nobody has it open any more, nothing is left of it, whoever dies.
/// Where the file system has none (open(2), `O_TMPFILE`) it has a name.
pub(super) fn make(
    directory: impl AsFd,
    path: PathBuf,
    mode: u32,
) -> Result<(OwnedFd, Temporary), Errno> {
    let mode = Mode::from_raw_mode(mode);
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    match openat(&directory, ".", flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok((file, Temporary { path, is_named: false })),
        // What the system says that does not know the flag, or whose file system doesn't.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let name = path.file_name().ok_or(Errno::INVAL)?;
            let file = openat(&directory, name, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            named().push(path.clone());
            Ok((file, Temporary { path, is_named: true }))
        }
        Err(errno) => Err(errno),
    }
}

/// Gives a file its name, if there is nothing of that name yet.
pub(super) fn link(
    file: BorrowedFd<'_>,
    temporary: &Temporary,
    directory: impl AsFd,
    name: &OsStr,
) -> Result<(), Errno> {
    if !temporary.is_named {
        return link_unnamed(file, directory, name);
    }
    let path = &temporary.path;
    match renameat_with(CWD, path, &directory, name, RenameFlags::NOREPLACE) {
        // A file system that does not know it; a hard link is not made where something is, either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(CWD, path, &directory, name, AtFlags::empty())?;
            remove(path)
        }
        linked => linked.map(|()| forget(path)),
    }
}

/// Gives a file its name, in place of what has it.
pub(super) fn replace(
    file: BorrowedFd<'_>,
    temporary: &Temporary,
    directory: impl AsFd,
    name: &OsStr,
) -> Result<(), Errno> {
    let path = &temporary.path;
    if temporary.is_named {
        return renameat(CWD, path, directory, name).map(|()| forget(path));
    }
    // A hard link never replaces.
    let between = path.file_name().ok_or(Errno::INVAL)?;
    link_unnamed(file, &directory, between)?;
    renameat(&directory, between, &directory, name).inspect_err(|_| {
        let _gone = unlinkat(&directory, between, AtFlags::empty());
    })
}

/// Removes one that has a name.
pub(super) fn remove(path: &Path) -> Result<(), Errno> {
    forget(path);
    unlinkat(CWD, path, AtFlags::empty())
}

/// Removes all that have a name. The agent is gone.
pub(super) fn remove_all() {
    for path in named().drain(..) {
        let _gone = unlinkat(CWD, &path, AtFlags::empty());
    }
}

/// Whether that is the name of one.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.as_bytes().starts_with(PREFIX.as_bytes())
}

/// linkat(2): by `/proc`, which anybody may.
fn link_unnamed(file: BorrowedFd<'_>, directory: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, path, &directory, name, AtFlags::SYMLINK_FOLLOW) {
        // There may be no `/proc`.
        Err(Errno::NOENT) => linkat(file, "", &directory, name, AtFlags::EMPTY_PATH),
        linked => linked,
    }
}

/// One that nobody else has.
pub(crate) fn random_name() -> Result<OsString, Errno> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
    Ok(format!("{PREFIX}{:016x}", u64::from_ne_bytes(random)).into())
}

/// It has its own name now, or is gone.
pub(super) fn forget(path: &Path) {
    named().retain(|named| named != path);
}

fn named() -> MutexGuard<'static, Vec<PathBuf>> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write};

    use tempfile::TempDir;

    use super::*;

    fn names(directory: &Path) -> Vec<OsString> {
        let mut names: Vec<_> =
            directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    /// One with a name, as where the file system has no others.
    fn make_named(directory: &Path) -> (OwnedFd, Temporary) {
        let path = directory.join(random_name().unwrap());
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        named().push(path.clone());
        (file.into(), Temporary { path, is_named: true })
    }

    #[test]
    fn a_file_takes_a_place_or_leaves_nothing_with_and_without_a_name_of_its_own() {
        let directory = TempDir::new().unwrap();
        let path = directory.path();
        let folder = File::open(path).unwrap();
        for has_name in [false, true] {
            let make = |text: &str| {
                let (file, temporary) = if has_name {
                    make_named(path)
                } else {
                    make(&folder, path.join(random_name().unwrap()), 0o666).unwrap()
                };
                assert_eq!(temporary.is_named, has_name);
                let mut file = File::from(file);
                file.write_all(text.as_bytes()).unwrap();
                (OwnedFd::from(file), temporary)
            };
            assert_eq!(names(path), [] as [&str; 0]);
            let (file, temporary) = make("one");
            assert_eq!(names(path).len(), usize::from(has_name));
            link(file.as_fd(), &temporary, &folder, "a".as_ref()).unwrap();
            assert_eq!(names(path), ["a"]);
            let (file, temporary) = make("two");
            let refused = link(file.as_fd(), &temporary, &folder, "a".as_ref());
            assert_eq!(refused, Err(Errno::EXIST));
            replace(file.as_fd(), &temporary, &folder, "a".as_ref()).unwrap();
            assert_eq!(
                (names(path), std::fs::read(path.join("a")).unwrap()),
                (vec!["a".into()], b"two".into())
            );
            std::fs::remove_file(path.join("a")).unwrap();
            std::fs::create_dir(path.join("a")).unwrap();
            let (file, temporary) = make("three");
            replace(file.as_fd(), &temporary, &folder, "a".as_ref()).unwrap_err();
            drop(file);
            if has_name {
                remove(&temporary.path).unwrap();
            }
            assert_eq!(names(path), ["a"]);
            std::fs::remove_dir(path.join("a")).unwrap();
        }
        make_named(path);
        remove_all();
        assert_eq!(names(path), [] as [&str; 0]);
    }
}
