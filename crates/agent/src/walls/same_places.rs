//! Whether what is mounted in a box is what was there when its walls were planned. bubblewrap looks its paths up once more, and what may
//! write a directory above one, such as a command in another box, can have put a symbolic link there by then.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2},
    io::Errno,
};
use serde::{Deserialize, Serialize};

/// A place, and what is there.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    path: Vec<u8>,
    identity: (u64, u64),
}

/// What is at places now, for [`check`].
///
/// # Errors
/// One is gone, or a symbolic link leads there.
pub(super) fn record(places: &[PathBuf]) -> io::Result<Vec<u8>> {
    let see = |path: &PathBuf| {
        let identity = identity(path).map_err(|error| exchanged(path, &error.to_string()))?;
        Ok(Seen { path: path.as_os_str().as_bytes().to_owned(), identity })
    };
    let seen = places.iter().map(see).collect::<io::Result<Vec<_>>>()?;
    postcard::to_stdvec(&seen).map_err(io::Error::other)
}

/// Whether the same is there, as seen from within a box.
///
/// # Errors
/// Something else is.
pub(super) fn check(mut recorded: File) -> io::Result<()> {
    let mut bytes = Vec::new();
    recorded.read_to_end(&mut bytes)?;
    let seen: Vec<Seen> = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
    for Seen { path, identity: expected } in seen {
        let path = Path::new(OsStr::from_bytes(&path));
        match identity(path) {
            Ok(found) if found == expected => {}
            Ok(_) => return Err(exchanged(path, "something else is there")),
            Err(error) => return Err(exchanged(path, &error.to_string())),
        }
    }
    Ok(())
}

fn exchanged(path: &Path, what: &str) -> io::Error {
    io::Error::other(format!("{} was exchanged while the box was built: {what}", path.display()))
}

/// The device and the number of what is at a path without symbolic links.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    match openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(file) => {
            let found = fstat(file)?;
            Ok((found.st_dev, found.st_ino))
        }
        // Before Linux 5.6, and where a container does not know the call.
        Err(Errno::NOSYS | Errno::PERM) if path.canonicalize()? == path => {
            let found = fs::symlink_metadata(path)?;
            Ok((found.dev(), found.ino()))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_was_exchanged_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [place, other] = ["place", "other"].map(|name| root.join(name));
        for path in [&place, &other] {
            fs::create_dir(path).unwrap();
        }
        fs::write(place.join("file"), "").unwrap();
        let places = [PathBuf::from("/"), place.clone(), place.join("file")];
        let recorded = record(&places).unwrap();
        let result = || {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&recorded).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            check(file).map_err(|error| error.to_string())
        };
        assert_eq!(result(), Ok(()));
        fs::rename(&place, root.join("old")).unwrap();
        assert!(result().unwrap_err().starts_with(&format!("{} was exch", place.display())));
        symlink(root.join("old"), &place).unwrap();
        assert!(result().unwrap_err().starts_with(&format!("{} was exch", place.display())));
        assert!(record(&places).is_err());
        fs::remove_file(&place).unwrap();
        fs::rename(&other, &place).unwrap();
        assert!(result().unwrap_err().contains("something else"));
        fs::remove_dir(&place).unwrap();
        fs::rename(root.join("old"), &place).unwrap();
        assert_eq!(result(), Ok(()));
    }
}
