use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    mem,
    os::{fd::AsFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::{
    changes::{ChangeKind, Changes, Tell},
    disk::{id_of, open_root},
    end::{End, refused},
    inotify::Inotify,
    move_queue::{MoveQueue, Next},
    tree::Tree,
};
use crate::ignore_patterns::IgnorePatterns;

/// How many names are remembered that were found and of which an event may still come.
const MAX_FOUND: usize = 10_000;

/// What is watched.
#[derive(Debug)]
pub(crate) struct Scope {
    /// Absolute.
    pub(crate) root: PathBuf,
    /// Whether also what is in directories below it.
    pub(crate) recursive: bool,
    pub(crate) ignore: IgnorePatterns,
    /// Whether a move is told as one, and not as a removal and an addition.
    pub(crate) tells_renames: bool,
}

/// Progress of one step.
#[derive(Debug)]
pub(super) enum Progress {
    Made,
    /// There is no event to handle, or none before that moment.
    Idle(Option<Instant>),
}

/// Watches a directory, with all that is below it where that is asked for.
pub(crate) struct Watcher {
    pub(super) scope: Scope,
    pub(super) inotify: Inotify,
    pub(super) queue: MoveQueue,
    pub(super) tree: Tree,
    /// By the watch of their directory, names that were told when they were found there: an event that waits may tell of them again.
    pub(super) found: HashMap<i32, HashSet<OsString>>,
    pub(super) found_count: usize,
    /// Directories that may hold an entry without an event.
    pub(super) unread: HashSet<i32>,
}

impl Watcher {
    /// Sets all watches. What changes from now on will be told.
    ///
    /// # Errors
    /// It can't be watched.
    pub(crate) fn start(scope: Scope) -> Result<Self, End> {
        let failed = |errno| End::System { path: scope.root.clone(), errno };
        let root = open_root(&scope.root).map_err(failed)?;
        let inotify = Inotify::open().map_err(|errno| match errno {
            Errno::MFILE => {
                End::TooMany { path: scope.root.clone(), sysctl: "fs.inotify.max_user_instances" }
            }
            errno => failed(errno),
        })?;
        let watch = inotify.add(&root).map_err(|errno| refused(&scope.root, errno))?;
        let tree = Tree::new(watch, id_of(&root).map_err(failed)?);
        drop(root);
        let mut watcher = Self {
            scope,
            inotify,
            queue: MoveQueue::default(),
            tree,
            found: HashMap::new(),
            found_count: 0,
            unread: HashSet::new(),
        };
        if watcher.scope.recursive {
            watcher.scan(watch, Tell::Nothing, None)?;
        }
        Ok(watcher)
    }

    /// Tells what changes, until that can't be told any more.
    pub(crate) fn run(&mut self, changes: &mut Changes<'_>) -> End {
        loop {
            if let Err(end) = self.step(changes) {
                // What was seen before counts, whatever comes after.
                return if changes.flush().is_err() { End::Unheard } else { end };
            }
        }
    }

    fn step(&mut self, changes: &mut Changes<'_>) -> Result<(), End> {
        match self.advance(Instant::now(), changes)? {
            Progress::Made => Ok(()),
            Progress::Idle(until) => {
                changes.flush()?;
                self.wait(until, changes)
            }
        }
    }

    /// Handles one event or move, or reads what there is.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        changes: &mut Changes<'_>,
    ) -> Result<Progress, End> {
        let until = match self.queue.next(now) {
            Next::Event(event) => {
                self.handle(&event, changes)?;
                return Ok(Progress::Made);
            }
            Next::Move { from, to } => {
                self.handle_move(&from, &to, changes)?;
                return Ok(Progress::Made);
            }
            Next::Wait(until) => Some(until),
            Next::Empty => None,
        };
        if self.read(now)? {
            return Ok(Progress::Made);
        }
        if until.is_none() {
            // Whatever was found has been told of by its event, if there was one.
            self.found.clear();
            self.found_count = 0;
            self.tree.settle();
        }
        Ok(Progress::Idle(until))
    }

    fn read(&mut self, now: Instant) -> Result<bool, End> {
        let queue = &mut self.queue;
        let read = self.inotify.read(|event| queue.push(event, now));
        read.map_err(|errno| self.system(Path::new(""), errno))
    }

    /// Waits for events, or for that moment.
    fn wait(&self, until: Option<Instant>, changes: &Changes<'_>) -> Result<(), End> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let (inotify, audience) = (self.inotify.as_fd(), changes.audience());
        let mut polled =
            [PollFd::new(&inotify, PollFlags::IN), PollFd::new(&audience, PollFlags::IN)];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(self.system(Path::new(""), errno)),
        }
        // It sends nothing after its request.
        let [_, audience] = polled;
        if audience.revents().is_empty() { Ok(()) } else { Err(End::Unheard) }
    }

    /// Some events were lost: what is watched is found anew, and then that is told.
    pub(super) fn start_anew(&mut self, changes: &mut Changes<'_>) -> Result<(), End> {
        self.drop_waiting()?;
        self.found.clear();
        self.found_count = 0;
        self.unread.clear();
        let root = self.tree.root();
        // Also its end may have been lost, and another directory may have its number: then that has no watch yet.
        let watch = match self.open(root)? {
            Some(directory) => self.inotify.add(&directory),
            None => return Err(End::Root("is gone")),
        };
        if watch.map_err(|errno| refused(&self.scope.root, errno))? != root {
            return Err(End::Root("is gone"));
        }
        let id = self.tree.id(root).unwrap_or_default();
        let old = mem::replace(&mut self.tree, Tree::new(root, id));
        if self.scope.recursive {
            self.scan(root, Tell::Nothing, None)?;
        }
        for watch in old.watches().filter(|watch| self.tree.id(*watch).is_none()) {
            self.inotify.remove(watch);
        }
        Ok(changes.add(ChangeKind::Overflow, &[Path::new("")])?)
    }

    /// Drops the events that wait. As long as one overflow waits to be read, Linux queues no other (`fsnotify_insert_event()`): of what
    /// came behind it some may be lost without a word.
    fn drop_waiting(&mut self) -> Result<(), End> {
        self.queue = MoveQueue::default();
        let queue = &mut self.queue;
        let dropped = self.inotify.drop_waiting(|overflow| queue.push(overflow, Instant::now()));
        dropped.map_err(|errno| self.system(Path::new(""), errno))
    }

    pub(super) fn add_found(&mut self, watch: i32, name: &OsStr) {
        // To tell something twice is better than to remember too much.
        if self.found_count >= MAX_FOUND {
            self.found.clear();
            self.found_count = 0;
        }
        if self.found.entry(watch).or_default().insert(name.to_owned()) {
            self.found_count += 1;
        }
    }

    /// Whether it was found there, and is told of by an event for the first time since.
    pub(super) fn take_found(&mut self, watch: i32, name: &OsStr) -> bool {
        let was_found = self.found.get_mut(&watch).is_some_and(|names| names.remove(name));
        self.found_count -= usize::from(was_found);
        was_found
    }

    pub(super) fn is_ignored(&self, path: &Path) -> bool {
        self.scope.ignore.matches(path.as_os_str().as_bytes())
    }

    pub(super) fn system(&self, path: &Path, errno: Errno) -> End {
        End::System { path: self.scope.root.join(path), errno }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs, io,
        os::{
            fd::{BorrowedFd, OwnedFd},
            unix::fs::MetadataExt,
        },
    };

    use rustix::pipe::pipe;

    use super::*;
    use crate::watch::{Audience, Change};

    /// Keeps what it is told, and is gone once it was told all.
    struct Heard {
        told: Vec<Change>,
        closed: OwnedFd,
    }

    impl AsFd for Heard {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.closed.as_fd()
        }
    }

    impl Audience for Heard {
        fn tell(&mut self, changes: Vec<Change>) -> io::Result<()> {
            self.told.extend(changes);
            Ok(())
        }
    }

    /// A watcher of a directory, and what has more events happen there than the system queues.
    fn watched(root: &Path) -> (Watcher, impl Fn() + use<>) {
        let files = ["a", "b"].map(|name| root.join(name));
        for file in &files {
            fs::write(file, "").unwrap();
        }
        let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let most: usize = most.trim().parse().unwrap();
        // An event each; the same one twice in succession would be one.
        let fill = move || {
            for file in files.iter().cycle().take(most + 1) {
                fs::set_permissions(file, fs::metadata(file).unwrap().permissions()).unwrap();
            }
        };
        let scope = Scope {
            root: root.to_owned(),
            recursive: false,
            ignore: IgnorePatterns::default(),
            tells_renames: true,
        };
        (Watcher::start(scope).unwrap(), fill)
    }

    #[test]
    fn a_root_that_was_made_anew_while_events_were_lost_is_not_watched_in_silence() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        let (mut watcher, fill) = watched(&root);
        fill();
        // Most file systems give its number to another one, soon.
        let number = |path: &Path| fs::metadata(path).unwrap().ino();
        let before = number(&root);
        fs::remove_dir_all(&root).unwrap();
        let mut others = (0..1_000).map(|other| directory.path().join(other.to_string()));
        let other = others.find(|other| {
            fs::create_dir(other).unwrap();
            number(other) == before
        });
        match other {
            Some(other) => fs::rename(other, &root).unwrap(),
            None => fs::create_dir(&root).unwrap(),
        }
        let mut heard = Heard { told: Vec::new(), closed: pipe().unwrap().0 };
        assert!(matches!(watcher.run(&mut Changes::new(&mut heard, root)), End::Root("is gone")));
    }

    #[test]
    fn what_is_lost_while_an_overflow_waits_to_be_read_is_told_too() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let (mut watcher, fill) = watched(&root);
        fill();
        assert!(watcher.read(Instant::now()).unwrap());
        // There is room again, behind the overflow. The removal has none, and no second overflow says so.
        fs::create_dir(root.join("short-lived")).unwrap();
        fill();
        fs::remove_dir(root.join("short-lived")).unwrap();

        let mut heard = Heard { told: Vec::new(), closed: pipe().unwrap().0 };
        assert!(matches!(watcher.run(&mut Changes::new(&mut heard, root)), End::Unheard));
        let last = |kind| heard.told.iter().rposition(|change| change.kind == kind);
        assert!(last(ChangeKind::Overflow) > last(ChangeKind::Added), "{:?}", heard.told);
        assert!(last(ChangeKind::Overflow).is_some());
    }
}
