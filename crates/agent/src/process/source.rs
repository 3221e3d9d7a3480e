use sandpipe_protocol::OutputType;

/// Where output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Stdout,
    Stderr,
    /// A terminal carries both.
    Terminal,
}

impl Source {
    pub(super) fn output_type(self) -> OutputType {
        match self {
            Self::Stdout | Self::Terminal => OutputType::Stdout,
            Self::Stderr => OutputType::Stderr,
        }
    }

    pub(super) fn key(self) -> u64 {
        match self {
            Self::Stdout => 0,
            Self::Stderr => 1,
            Self::Terminal => 2,
        }
    }

    pub(super) fn of_key(key: u64) -> Self {
        match key {
            0 => Self::Stdout,
            1 => Self::Stderr,
            _ => Self::Terminal,
        }
    }
}
