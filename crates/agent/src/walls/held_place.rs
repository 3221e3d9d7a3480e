use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
    process,
    sync::{Arc, Mutex},
    thread::sleep,
    time::Duration,
};

use nix::libc;
use rustix::fs::{FlockOperation, flock};
use sandpipe_policy::files::{Kind, Placeholder};

/// How often it is tried where others remove or make something at that moment.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// A placeholder as long as a box has something mounted on it. Whoever uses one has a shared lock on it, in whichever agent: with what
/// is mounted on the mount itself would go, without a word. Who gets the lock alone at the end, removes it.
#[derive(Debug)]
pub(super) struct HeldPlace {
    placeholder: Placeholder,
    lock: File,
}

/// Placeholders of a box: there may be more while it runs.
pub(super) type HeldPlaces = Arc<Mutex<Vec<HeldPlace>>>;

impl HeldPlace {
    /// Makes what is missing, or joins those who use it; `None` where there is something else by now.
    ///
    /// # Errors
    /// It can't be made.
    pub(super) fn hold(placeholder: &Placeholder) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            make(placeholder)?;
            if Placeholder::find(&placeholder.path).as_ref() != Some(placeholder) {
                if placeholder.path.symlink_metadata().is_ok() {
                    return Ok(None);
                }
                continue;
            }
            match open(&placeholder.path) {
                Ok(lock) => {
                    let locked = flock(&lock, FlockOperation::NonBlockingLockShared);
                    // Where the file system has no locks nobody can have one alone: it is never removed.
                    let is_held = !matches!(locked, Err(rustix::io::Errno::WOULDBLOCK));
                    if is_held && is_at(&lock, &placeholder.path) {
                        return Ok(Some(Self { placeholder: placeholder.clone(), lock }));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            sleep(PAUSE);
        }
        Err(io::Error::other(format!(
            "others go on removing {}, which is made to be mounted on",
            placeholder.path.display()
        )))
    }
}

impl Drop for HeldPlace {
    /// Removes it, unless others use it or have put something there.
    fn drop(&mut self) {
        let Placeholder { path, kind } = &self.placeholder;
        let is_alone = flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if is_alone && is_at(&self.lock, path) && Placeholder::find(path).is_some() {
            let _left = match kind {
                Kind::Directory => fs::remove_dir(path),
                Kind::File => fs::remove_file(path),
            };
        }
    }
}

/// Makes one where there is nothing.
fn make(placeholder: &Placeholder) -> io::Result<()> {
    let Placeholder { path, kind } = placeholder;
    let made = match kind {
        Kind::Directory => DirBuilder::new().mode(placeholder.mode()).create(path),
        Kind::File => make_file(placeholder),
    };
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let what = format!("{} can't be made to be mounted on: {error}", path.display());
            Err(io::Error::new(error.kind(), what))
        }
        _ => Ok(()),
    }
}

/// Makes a file with its content at once: git outside may read it at any moment.
fn make_file(placeholder: &Placeholder) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(placeholder.mode());
    if placeholder.content().is_empty() {
        return options.open(&placeholder.path).map(drop);
    }
    if placeholder.path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut name = placeholder.path.clone().into_os_string();
    name.push(format!(".{}", process::id()));
    let written = options
        .open(&name)
        .and_then(|mut file| file.write_all(placeholder.content()))
        .and_then(|()| fs::hard_link(&name, &placeholder.path));
    let removed = fs::remove_file(&name);
    written.and(removed)
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Whether a path is that of an open file.
fn is_at(file: &File, path: &Path) -> bool {
    let is_same = |file: fs::Metadata, path: fs::Metadata| {
        (file.dev(), file.ino()) == (path.dev(), path.ino())
    };
    file.metadata().is_ok_and(|file| path.symlink_metadata().is_ok_and(|path| is_same(file, path)))
}
