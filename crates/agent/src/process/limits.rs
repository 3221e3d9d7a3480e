use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

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
}
