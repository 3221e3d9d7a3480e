use std::{fmt, time::Duration};

use nix::libc;

/// What each command may use, as far as it is the agent that ends one, or says what has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandLimits {
    /// How long it and what it has started may run.
    pub(crate) wall_time: Option<Duration>,
    /// How many bytes it may write to both streams together.
    pub(crate) output: Option<u64>,
    /// Each of its processes is ended by SIGXCPU after that.
    pub(crate) cpu_time: Option<Duration>,
    /// A process that makes a file larger is ended by SIGXFSZ.
    pub(crate) file_size: Option<u64>,
}

/// A limit by which a command was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReachedLimit {
    WallTime(Duration),
    Output(u64),
    CpuTime(Duration),
    FileSize(u64),
    /// Of all commands together, in bytes.
    Memory(u64),
    /// The command was refused a process.
    Processes(u64),
}

impl CommandLimits {
    /// The limit that an exit code tells of: that of the signal by which the kernel ends a process, also where a shell reports it.
    pub(crate) fn told_by(&self, exit_code: i32) -> Option<ReachedLimit> {
        match exit_code - 128 {
            libc::SIGXCPU => self.cpu_time.map(ReachedLimit::CpuTime),
            libc::SIGXFSZ => self.file_size.map(ReachedLimit::FileSize),
            _ => None,
        }
    }
}

impl fmt::Display for ReachedLimit {
    /// What is said of it on standard error.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, limit) = match self {
            Self::WallTime(limit) => ("wallTime", format!("{limit:?}")),
            Self::CpuTime(limit) => ("cpuTime", format!("{limit:?}")),
            Self::Output(bytes) => ("output", format!("{bytes} bytes")),
            Self::Memory(bytes) => ("memory", format!("{bytes} bytes")),
            Self::Processes(count) => {
                return writeln!(
                    formatter,
                    "sandpipe-agent: refused a process by limits.processes of the policy: {count}"
                );
            }
            Self::FileSize(bytes) => ("fileSize", format!("{bytes} bytes")),
        };
        writeln!(formatter, "sandpipe-agent: ended by limits.{field} of the policy: {limit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_tells_of_a_limit_that_there_is() {
        let none = CommandLimits::default();
        let some =
            CommandLimits { cpu_time: Some(Duration::from_secs(2)), file_size: Some(4096), ..none };
        for code in [0, 1, 128 + 24, 128 + 25, -1] {
            assert_eq!(none.told_by(code), None);
        }
        let told = |code| some.told_by(code).map(|limit| limit.to_string()).unwrap_or_default();
        assert_eq!(told(128 + 24), "sandpipe-agent: ended by limits.cpuTime of the policy: 2s\n");
        assert_eq!(
            told(128 + 25),
            "sandpipe-agent: ended by limits.fileSize of the policy: 4096 bytes\n"
        );
        assert_eq!(told(24), "");
        assert_eq!(
            ReachedLimit::Memory(1 << 20).to_string(),
            "sandpipe-agent: ended by limits.memory of the policy: 1048576 bytes\n"
        );
        assert_eq!(
            ReachedLimit::Processes(64).to_string(),
            "sandpipe-agent: refused a process by limits.processes of the policy: 64\n"
        );
    }
}
