use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};

use nix::{
    errno::Errno,
    sys::{
        mman::{MapFlags, ProtFlags, mmap_anonymous, munmap},
        resource::{Resource, getrlimit, rlim_t, setrlimit},
    },
};

use super::launch::Launch;

/// How many descriptors a process takes as long as it is watched: three pipes, what waits for them, what
/// wakes that, and the files for output and for the record of its end.
const PER_PROCESS: usize = 7;
/// How many descriptors the agent takes for itself, for a start that is under way, and for removing.
const OWN: usize = 32;
/// The part of the descriptors that processes may take. The rest is for connections and for the files that
/// each of them reads: without, nobody could stop what runs.
const PROCESSES_SHARE: usize = 2;

/// The limit on open files that the agent was started with: what its commands get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileLimit {
    soft: rlim_t,
    hard: rlim_t,
}

impl FileLimit {
    /// Raises the agent's own soft limit to the hard one, since each exec takes a few descriptors,
    /// and remembers what it was.
    pub(crate) fn raise() -> nix::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        Ok(Self { soft, hard })
    }

    /// A fraction of all descriptors that the agent may have.
    pub(crate) fn share(self, fraction: usize) -> usize {
        usize::try_from(self.hard).unwrap_or(usize::MAX) / fraction
    }

    /// Puts the old limit back. Only a bare system call, so it may run between fork and exec.
    pub(super) fn restore(self) -> nix::Result<()> {
        setrlimit(Resource::RLIMIT_NOFILE, self.soft, self.hard)
    }

    /// How many processes may be watched at once, at least one.
    fn processes(self) -> usize {
        (self.share(PROCESSES_SHARE).saturating_sub(OWN) / PER_PROCESS).max(1)
    }
}

/// How many processes are watched.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

/// The descriptors of a process that is watched, until it is dropped.
#[derive(Debug)]
pub(crate) struct Watched(());

/// So many processes are watched that the descriptors of one more may be missing elsewhere.
#[derive(Debug, thiserror::Error)]
#[error(
    "the agent may have {limit} open files, and {most} commands that run, or whose output is held open, take \
     what it has for them: stop some, or start it with a higher limit (ulimit -n)"
)]
pub(crate) struct TooManyWatched {
    most: usize,
    limit: usize,
}

impl Watched {
    /// Takes the descriptors of one more.
    pub(crate) fn one(launch: &Launch) -> Result<Self, TooManyWatched> {
        let limit = launch.file_limit;
        let most = limit.processes();
        let more = |watched: usize| Some(watched + 1).filter(|watched| *watched <= most);
        WATCHED
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .map(|_| Self(()))
            .map_err(|_| TooManyWatched { most, limit: limit.share(1) })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        WATCHED.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Looks whether there are so many bytes of memory: where a limit is reached, as by `ulimit -v`, the agent
/// ends with the next bit that it needs, and all commands with it. What needs much is refused before.
pub(crate) fn check_memory(bytes: usize) -> Result<(), Errno> {
    let bytes = NonZeroUsize::MIN.saturating_add(bytes);
    // SAFETY: nothing else is in the place that the system chooses, and nobody knows of it when it is
    // taken back. It is never touched, so it takes no memory.
    #[allow(unsafe_code)]
    unsafe {
        let probe = mmap_anonymous(
            None,
            bytes,
            ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
            MapFlags::MAP_PRIVATE,
        )?;
        munmap(probe, bytes.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_leave_connections_and_what_they_read_their_descriptors() {
        let most = |hard| FileLimit { soft: 0, hard }.processes();
        assert_eq!((most(1024), most(4096)), (68, 288));
        for hard in 128..10_000 {
            let connections = FileLimit { soft: 0, hard }.share(4);
            let all = 2 * connections + OWN + PER_PROCESS * most(hard);
            assert!(all <= usize::try_from(hard).unwrap(), "{all} of {hard}");
        }
        assert_eq!(most(16), 1);
        assert!(most(rlim_t::MAX) > 1 << 50);
    }
}
