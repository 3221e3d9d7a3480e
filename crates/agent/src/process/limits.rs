use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

use crate::sandbox::FileLimits;

/// How many descriptors a process takes as long as it runs: two pipes, or the two of a terminal, what waits
/// for them, and the file for output, which is closed when that for the record of its end is opened.
const PER_PROCESS: usize = 4;
/// How many more it takes whose standard input stays open.
const INPUT: usize = 1;
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
    /// The hard limit of commands.
    of_commands: rlim_t,
}

impl FileLimit {
    /// Raises the agent's own soft limit to the hard one, since each exec takes a few descriptors,
    /// and remembers what it was.
    pub(crate) fn raise() -> nix::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        Ok(Self { soft, hard, of_commands: hard })
    }

    /// The same, where commands may have no more than so many.
    pub(crate) fn of_commands_at_most(self, max: Option<u64>) -> Self {
        match max {
            Some(max) => {
                Self { soft: self.soft.min(max), of_commands: self.of_commands.min(max), ..self }
            }
            None => self,
        }
    }

    /// A fraction of all descriptors that the agent may have.
    pub(crate) fn share(self, fraction: usize) -> usize {
        usize::try_from(self.hard).unwrap_or(usize::MAX) / fraction
    }

    /// The limits that it was started with.
    pub(super) fn of_commands(self) -> FileLimits {
        FileLimits { soft: self.soft, hard: self.of_commands }
    }

    /// All that the agent itself may have.
    pub(crate) fn of_workers(self) -> FileLimits {
        FileLimits { soft: self.hard, hard: self.hard }
    }

    /// How many descriptors processes may take together: at least those of one.
    fn of_processes(self) -> usize {
        self.share(PROCESSES_SHARE).saturating_sub(OWN).max(PER_PROCESS + INPUT)
    }
}

/// How many descriptors processes take that run, or whose output is held open.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The descriptors that a process may take, until it is dropped.
#[derive(Debug)]
pub(crate) struct DescriptorPermit {
    descriptors: usize,
}

/// Processes take so many descriptors that those of one more may be missing elsewhere.
#[derive(Debug, thiserror::Error)]
#[error(
    "the agent may have {limit} open files, and commands that run, or whose output is held open, take the \
     {max} that it has for them: stop some, or start it with a higher limit (ulimit -n)"
)]
pub(crate) struct TooManyDescriptors {
    max: usize,
    limit: usize,
}

impl DescriptorPermit {
    /// Takes the descriptors of one more, whose standard input stays open or doesn't.
    pub(super) fn acquire(limit: FileLimit, has_input: bool) -> Result<Self, TooManyDescriptors> {
        let max = limit.of_processes();
        let descriptors = PER_PROCESS + if has_input { INPUT } else { 0 };
        let more = |taken: usize| Some(taken + descriptors).filter(|taken| *taken <= max);
        TAKEN
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
            .map(|_| Self { descriptors })
            .map_err(|_| TooManyDescriptors { max, limit: limit.share(1) })
    }

    /// From now on it takes no more than so many: the rest is given back.
    pub(crate) fn shrink_to(&mut self, descriptors: usize) {
        let kept = self.descriptors.min(descriptors);
        TAKEN.fetch_sub(self.descriptors - kept, Ordering::AcqRel);
        self.descriptors = kept;
    }
}

impl Drop for DescriptorPermit {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_leave_connections_and_what_they_read_their_descriptors() {
        let max = |hard| FileLimit { soft: 0, hard, of_commands: hard }.of_processes();
        assert_eq!((max(1024), max(4096)), (480, 2016));
        assert_eq!(max(1024) / (PER_PROCESS + INPUT), 96);
        for hard in 128..10_000 {
            let connections = FileLimit { soft: 0, hard, of_commands: hard }.share(4);
            let all = 2 * connections + OWN + max(hard);
            assert!(all <= usize::try_from(hard).unwrap(), "{all} of {hard}");
        }
        assert_eq!(max(16), PER_PROCESS + INPUT);
        assert!(max(rlim_t::MAX) > 1 << 50);
    }
}
