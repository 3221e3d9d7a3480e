use crate::process::ReachedLimit;

/// What stopped an exec, or began to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// A request: a signal, or a delete.
    Client,
    /// The agent's end.
    Agent,
    /// Limits of the policy.
    WallTime,
    Output,
    CpuTime,
    FileSize,
    Memory,
}

impl StopReason {
    const ALL: [Self; 7] = [
        Self::Client,
        Self::Agent,
        Self::WallTime,
        Self::Output,
        Self::CpuTime,
        Self::FileSize,
        Self::Memory,
    ];

    /// What clients are told; a limit has the name that it has in a policy.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Agent => "agent",
            Self::WallTime => "wallTime",
            Self::Output => "output",
            Self::CpuTime => "cpuTime",
            Self::FileSize => "fileSize",
            Self::Memory => "memory",
        }
    }

    /// The one of that name; None where only another agent knows it.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// The reason that a limit is; None where it ends nothing.
    pub(super) fn of_limit(limit: ReachedLimit) -> Option<Self> {
        match limit {
            ReachedLimit::WallTime(_) => Some(Self::WallTime),
            ReachedLimit::Output(_) => Some(Self::Output),
            ReachedLimit::CpuTime(_) => Some(Self::CpuTime),
            ReachedLimit::FileSize(_) => Some(Self::FileSize),
            ReachedLimit::Memory(_) => Some(Self::Memory),
            ReachedLimit::Processes(_) => None,
        }
    }

    /// Whether it is a limit: the kernel may hold it, and then nobody sends a signal.
    pub(super) fn is_limit(self) -> bool {
        !matches!(self, Self::Client | Self::Agent)
    }
}
