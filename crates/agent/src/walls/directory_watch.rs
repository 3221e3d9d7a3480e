//! Watch on the directories in which something outside of a sandbox may put another file in the place
//! of one that a rule is for.

use std::{
    collections::BTreeSet,
    ffi::CStr,
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
};

use rustix::{
    fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init},
    io::Errno,
};
use sandpipe_policy::walls::MountCheck;

/// Size of the buffer for events, in bytes.
const BUFFER: usize = 16 * 1024;

/// Events that may put another file in a place, or leave none there.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// Events that tell of no name: all is to be looked at.
const OF_DIRECTORY: ReadFlags =
    ReadFlags::MOVE_SELF.union(ReadFlags::DELETE_SELF).union(ReadFlags::QUEUE_OVERFLOW);

/// Watch by inotify(7), whose descriptor can be read when something has happened.
#[derive(Debug)]
pub(super) struct DirectoryWatch {
    inotify: OwnedFd,
    /// Names of what has a rule, and of the directories above it.
    names: BTreeSet<Vec<u8>>,
}

impl AsFd for DirectoryWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl DirectoryWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// The system does not let all that be watched.
    pub(super) fn begin(check: &MountCheck) -> io::Result<Self> {
        let names = check.guarded().flat_map(|guarded| &guarded.path);
        let names = names.map(|name| name.as_bytes().to_owned()).collect();
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(not_watched)?;
        let watch = Self { inotify, names };
        watch.watch(check)?;
        Ok(watch)
    }

    /// Takes all events; returns whether one is of a name that matters.
    pub(super) fn concerns(&self, absent: &[PathBuf]) -> bool {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        let mut concerns = false;
        let is_absent =
            |name: &[u8]| absent.iter().any(|path| path.iter().any(|part| part.as_bytes() == name));
        // At the end there is none now.
        while let Ok(event) = events.next() {
            let name = event.file_name().map(CStr::to_bytes);
            concerns |= event.events().intersects(OF_DIRECTORY)
                || name.is_some_and(|name| self.names.contains(name) || is_absent(name));
        }
        concerns
    }

    /// Watches the directories in which another file may take a place; of those that are not there the one above.
    ///
    /// # Errors
    /// The system does not let all that be watched.
    pub(super) fn watch(&self, check: &MountCheck) -> io::Result<()> {
        let mut watched = BTreeSet::new();
        for guarded in check.guarded() {
            for directory in guarded.path.ancestors().skip(1) {
                if !watched.insert(directory) {
                    break;
                }
                match add_watch(&self.inotify, directory, EVENTS) {
                    Ok(_) => break,
                    Err(error @ (Errno::NOSPC | Errno::NOMEM)) => return Err(not_watched(error)),
                    Err(error) => tracing::debug!(%error, ?directory, "is not watched"),
                }
            }
        }
        Ok(())
    }
}

/// Says what to do where the system watches no files: without a rule would not hold when its file is replaced.
fn not_watched(error: Errno) -> io::Error {
    let advice = match error {
        Errno::MFILE => {
            ": end programs that watch files, or raise fs.inotify.max_user_instances (sysctl)"
        }
        Errno::NOSPC => {
            ": end programs that watch files, or raise fs.inotify.max_user_watches (sysctl)"
        }
        _ => "",
    };
    io::Error::other(format!(
        "the system does not let files be watched that the policy names: {error}{advice}"
    ))
}
