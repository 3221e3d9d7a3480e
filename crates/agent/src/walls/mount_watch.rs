//! Keeps the mounts of a sandbox as its policy needs them.
//!
//! A file that something outside replaces by another takes the mount on it along: a rename onto it or its removal detaches that (the kernel
//! wakes up who polls `mountinfo`), and with a rename of the file itself the mount goes where the file goes. Then the new file, which gets its
//! name a moment later (`directory_watch.rs` tells of that), would be there for commands as it is. So it is looked again with each of these, and before each
//! command and file request, and what is missing is mounted again by a helper in the same namespace.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Signal, pidfd_send_signal},
};
use sandpipe_policy::{
    files::{Kind, Placeholder},
    walls::{Fault, Guard, Guarded, MountCheck},
};

use super::{
    directory_watch::DirectoryWatch,
    held_place::{HeldPlace, HeldPlaces},
    left_open::{Reprotected, kill_holders},
    mount_helper::{MountHelper, Outcome},
    socket_files::SocketFiles,
    state_directories::StateDirectories,
};

/// Number of looks after something was mounted: files outside may change meanwhile.
const ROUNDS: u32 = 100;
/// The thread that waits calls nothing deep.
const STACK: usize = 256 * 1024;
/// How long a process may have something open from the moment in which it was not protected, and a directory may be missing: most do so, and
/// are, for a moment.
const PATIENCE: Duration = Duration::from_millis(100);
/// Mounts of a sandbox that runs.
#[derive(Debug)]
pub(crate) struct MountWatch {
    /// Files of other programs. To look for them may take longer than what is mounted may be missing: the state is not locked meanwhile.
    others: Mutex<Others>,
    state: Mutex<State>,
    /// The process whose end is that of the sandbox, where the system has such descriptors.
    process: Option<OwnedFd>,
    /// The process that built the walls, and ends with the sandbox: what is mounted on is removed once it has ended.
    builder: Option<OwnedFd>,
    directories: DirectoryWatch,
    /// Directories that were made where one is missing.
    held_places: HeldPlaces,
}

/// Files of other programs that commands don't see.
#[derive(Debug)]
struct Others {
    state_directories: StateDirectories,
    sockets: SocketFiles,
}

#[derive(Debug)]
struct State {
    check: MountCheck,
    mountinfo: File,
    /// Contents of `mountinfo` when all was well.
    last: Vec<u8>,
    /// Places at which there was nothing then.
    absent: Vec<PathBuf>,
    /// Places whose holders are still to be looked for.
    reprotected: Vec<Reprotected>,
    /// When that is done, and directories are made where one is missing.
    due: Option<Instant>,
    /// Whether commands may run: before that, mounts that bubblewrap has left out are made.
    has_begun: bool,
    /// None when the sandbox has ended.
    helper: Option<MountHelper>,
}

impl MountWatch {
    /// Looks at the mounts of a sandbox before its first command, and watches them from now on.
    ///
    /// # Errors
    /// They can't be looked at, or are not what the policy needs.
    pub(super) fn begin(
        check: MountCheck,
        held_places: HeldPlaces,
        helper: MountHelper,
        pid: i32,
        process: Option<BorrowedFd<'_>>,
        builder: Option<OwnedFd>,
    ) -> io::Result<Arc<Self>> {
        let namespace = foreign_namespace(pid, "mnt")?;
        helper.enter(namespace.as_fd())?;
        if let Err(error) = helper.make_private() {
            tracing::warn!(
                %error,
                "what is mounted on this machine from now on is unmounted in the sandbox when it appears there: the system does not let it be kept out"
            );
        }
        helper.protect_devices()?;
        let open = || File::open(format!("/proc/{pid}/mountinfo"));
        let (mountinfo, changes) = (open()?, open()?);
        let directories = DirectoryWatch::begin(&check)?;
        let others = Mutex::new(Others {
            state_directories: StateDirectories::default(),
            sockets: SocketFiles::new(check.clone()),
        });
        let state = State {
            check,
            mountinfo,
            last: Vec::new(),
            absent: Vec::new(),
            reprotected: Vec::new(),
            due: None,
            has_begun: false,
            helper: Some(helper),
        };
        let process = process.map(|process| process.try_clone_to_owned()).transpose()?;
        let state = Mutex::new(state);
        let watch = Arc::new(Self { others, state, process, builder, directories, held_places });
        watch.hold(&mut watch.state(), true)?;
        watch.state().has_begun = true;
        watch.find_others();
        watch.hold(&mut watch.state(), false)?;
        if watch.process.is_some() {
            let watch = Arc::clone(&watch);
            let run = move || watch.run(pid, &changes);
            thread::Builder::new().name("mounts".into()).stack_size(STACK).spawn(run)?;
        }
        Ok(watch)
    }

    /// Has the mounts be what the policy needs, and what other programs have hidden; returns whether they are.
    pub(crate) fn check(&self) -> bool {
        self.find_others();
        self.look(false)
    }

    /// Looks what other programs have. Where that is more than before, whoever looks at the mounts next hides it.
    fn find_others(&self) {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let Others { state_directories, sockets } = &mut *others;
        // Both look.
        if state_directories.find() | sockets.find() {
            let mut state = self.state();
            state.check.set_state_directories(state_directories.paths());
            state.check.set_sockets(sockets.paths());
            state.last.clear();
        }
    }

    fn look(&self, is_changed: bool) -> bool {
        let mut state = self.state();
        if state.helper.is_none() {
            return false;
        }
        let held = self.hold(&mut state, is_changed);
        if let Err(error) = &held {
            if !self.is_ending() {
                tracing::error!(%error, "a sandbox ends, since a rule of its policy can't be held any more");
            }
            state.helper = None;
        }
        held.is_ok()
    }

    /// Returns whether the sandbox ends in any case.
    fn is_ending(&self) -> bool {
        let at_once = Timespec::default();
        self.builder.as_ref().is_some_and(|builder| {
            poll(&mut [PollFd::new(builder, PollFlags::IN)], Some(&at_once))
                .is_ok_and(|count| count > 0)
        })
    }

    /// Checks whenever something has happened, until the sandbox ends.
    fn run(&self, pid: i32, changes: &File) {
        let Some(process) = &self.process else { return };
        loop {
            let due = self.state().due;
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut polled = [
                PollFd::new(process, PollFlags::IN),
                PollFd::new(changes, PollFlags::PRI),
                PollFd::new(&self.directories, PollFlags::IN),
            ];
            if poll(&mut polled, timeout.as_ref()).is_err() {
                continue;
            }
            let [has_ended, has_changed, has_events] = polled.map(|fd| !fd.revents().is_empty());
            if has_ended {
                break;
            }
            // All that there are are taken before it is looked.
            let concerns = has_events && self.directories.concerns(&self.state().absent);
            if (has_changed || concerns) && !self.look(true) {
                let _gone = pidfd_send_signal(process, Signal::KILL);
                break;
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                self.end_holders(pid);
                if self.make_placeholders() && !self.look(true) {
                    let _gone = pidfd_send_signal(process, Signal::KILL);
                    break;
                }
            }
        }
        self.state().helper = None;
    }

    /// Makes directories where one is missing, so that commands can't; returns whether it has made some.
    fn make_placeholders(&self) -> bool {
        let missing: Vec<_> = {
            let state = self.state();
            let missing = state.check.to_replace(&state.absent).filter(|path| is_absent(path));
            missing.map(Path::to_owned).collect()
        };
        let mut made = Vec::new();
        for path in missing {
            // With the one above it gone, commands could lead it elsewhere.
            let is_there = |above: &Path| above.canonicalize().is_ok_and(|found| found == above);
            if path.parent().is_none_or(|above| !is_there(above)) {
                continue;
            }
            match HeldPlace::hold(&Placeholder { path, kind: Kind::Directory }) {
                Ok(held) => made.extend(held),
                Err(error) => {
                    tracing::warn!(%error, "commands can make a directory that is missing");
                }
            }
        }
        let is_made = !made.is_empty();
        self.held_places.lock().unwrap_or_else(PoisonError::into_inner).extend(made);
        is_made
    }

    /// Ends the processes that have something open from the moment in which it was not protected.
    fn end_holders(&self, pid: i32) {
        let places = {
            let mut state = self.state();
            state.due = None;
            std::mem::take(&mut state.reprotected)
        };
        let killed = kill_holders(pid, &places);
        if !killed.is_empty() {
            let paths: Vec<_> = places.iter().map(|place| &place.path).collect();
            tracing::warn!(
                ?paths,
                ?killed,
                "processes of a sandbox were killed, which had a protected file open that was replaced outside"
            );
        }
    }

    /// Mounts what is missing, and takes away what is foreign, until all is well.
    fn hold(&self, state: &mut State, is_changed: bool) -> io::Result<()> {
        let begun = Instant::now();
        let mut mountinfo = read(&state.mountinfo)?;
        if !is_changed && mountinfo == state.last && state.absent.iter().all(|path| is_absent(path))
        {
            return Ok(());
        }
        let mut is_watched = false;
        for _ in 0..ROUNDS {
            let (mut absent, mut mounted) = (Vec::new(), BTreeSet::new());
            let mut is_mended = false;
            for fault in state.check.faults(&mountinfo) {
                match (state.mend(&fault)?, fault) {
                    (Outcome::Done, fault) => {
                        match &fault {
                            // Before the first command nothing has them open.
                            Fault::Lost(Guarded { path, guard: Guard::Protect })
                                if state.has_begun =>
                            {
                                let mountinfo = read(&state.mountinfo)?;
                                let own = [path.clone()].into();
                                let mounts = state.check.accept_at(&mountinfo, &own);
                                state.reprotected.push(Reprotected { path: path.clone(), mounts });
                                state.due.get_or_insert_with(|| Instant::now() + PATIENCE);
                            }
                            // There may be thousands of sockets to hide: all are taken at once.
                            Fault::Lost(guarded) => drop(mounted.insert(guarded.path.clone())),
                            Fault::Appeared(_) => {}
                        }
                        if state.has_begun {
                            tell(&fault, begun);
                        }
                        is_mended = true;
                    }
                    (Outcome::Absent, Fault::Lost(guarded)) => absent.push(guarded.path),
                    (Outcome::Absent, Fault::Appeared(_)) => {}
                }
            }
            if !is_mended && (absent.is_empty() || is_watched) {
                state.check.accept(&mountinfo);
                if state.check.to_replace(&absent).next().is_some() {
                    state.due.get_or_insert_with(|| Instant::now() + PATIENCE);
                }
                (state.last, state.absent) = (mountinfo, absent);
                return Ok(());
            }
            // A directory may be another one now. What gets its name from here on is noticed.
            if let Err(error) = self.directories.watch(&state.check) {
                // A mount that is lost shows in mountinfo, too.
                tracing::warn!(%error, "a file that is made outside of a sandbox is only noticed before the next command");
            }
            is_watched = true;
            mountinfo = read(&state.mountinfo)?;
            state.check.accept_at(&mountinfo, &mounted);
        }
        Err(io::Error::other("what the policy names is replaced all the time"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn mend(&self, fault: &Fault) -> io::Result<Outcome> {
        let helper = self.helper.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let (path, mended) = match fault {
            Fault::Lost(guarded) => {
                if is_absent(&guarded.path) {
                    return Ok(Outcome::Absent);
                }
                (&guarded.path, helper.mount(&guarded.path, guarded.guard))
            }
            Fault::Appeared(path) => (path, helper.unmount(path)),
        };
        let failed = |error: io::Error| {
            let what = match fault {
                Fault::Lost(_) => "was replaced, and its rule can't be mounted again",
                Fault::Appeared(_) => {
                    "was mounted on this machine, and can't be kept from commands"
                }
            };
            io::Error::other(format!("{} {what}: {error}", path.display()))
        };
        mended.map_err(failed)
    }
}

fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn tell(fault: &Fault, begun: Instant) {
    let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    match fault {
        Fault::Lost(guarded) => tracing::info!(
            path = ?guarded.path,
            micros,
            "a file or directory was replaced outside of a sandbox, and its rule holds again"
        ),
        Fault::Appeared(path) => tracing::info!(
            ?path,
            micros,
            "what was mounted on this machine was unmounted in a sandbox"
        ),
    }
}

/// Reads a file of `/proc` from its beginning.
fn read(file: &File) -> io::Result<Vec<u8>> {
    const STEP: usize = 32 * 1024;
    let mut bytes = Vec::new();
    loop {
        let end = bytes.len();
        bytes.resize(end + STEP, 0);
        let count = file.read_at(bytes.get_mut(end..).unwrap_or_default(), end as u64)?;
        bytes.truncate(end + count);
        if count == 0 {
            return Ok(bytes);
        }
    }
}

/// Opens a namespace of a process, such as `mnt`, which is not that of this one.
pub(super) fn foreign_namespace(pid: i32, kind: &str) -> io::Result<File> {
    let namespace = File::open(format!("/proc/{pid}/ns/{kind}"))?;
    let own = fs::metadata(format!("/proc/self/ns/{kind}"))?;
    if namespace.metadata()?.ino() == own.ino() {
        return Err(io::Error::other("its process that has the namespaces can't be found"));
    }
    Ok(namespace)
}
