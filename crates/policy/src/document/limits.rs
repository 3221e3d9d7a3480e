use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cpus, Size, Span};

/// What commands may use. What is left out has no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// How much memory all commands may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// How many processors all commands may keep busy together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpus>,
    /// How long each process may keep a processor busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<Span>,
    /// How many processes and threads there may be at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<NonZeroU64>,
    /// How many files each process may have open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<NonZeroU64>,
    /// How large each file may be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<Size>,
    /// How long each command may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Span>,
    /// How much each command may write to its standard output and standard error together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Size>,
}

impl Limits {
    /// These, where `later` does not say otherwise.
    #[must_use]
    pub fn overridden_by(self, later: &Self) -> Self {
        Self {
            memory: later.memory.or(self.memory),
            cpu: later.cpu.or(self.cpu),
            cpu_time: later.cpu_time.or(self.cpu_time),
            processes: later.processes.or(self.processes),
            open_files: later.open_files.or(self.open_files),
            file_size: later.file_size.or(self.file_size),
            wall_time: later.wall_time.or(self.wall_time),
            output: later.output.or(self.output),
        }
    }

    /// The first limit that is higher than that of `outer`, or missing where `outer` has one.
    #[must_use]
    pub fn wider_than(&self, outer: &Self) -> Option<&'static str> {
        fn is_wider<T: PartialOrd>(inner: Option<T>, outer: Option<T>) -> bool {
            outer.is_some_and(|outer| inner.is_none_or(|inner| inner > outer))
        }
        let fields = [
            ("limits.memory", is_wider(self.memory, outer.memory)),
            ("limits.cpu", is_wider(self.cpu, outer.cpu)),
            ("limits.cpuTime", is_wider(self.cpu_time, outer.cpu_time)),
            ("limits.processes", is_wider(self.processes, outer.processes)),
            ("limits.openFiles", is_wider(self.open_files, outer.open_files)),
            ("limits.fileSize", is_wider(self.file_size, outer.file_size)),
            ("limits.wallTime", is_wider(self.wall_time, outer.wall_time)),
            ("limits.output", is_wider(self.output, outer.output)),
        ];
        fields.into_iter().find(|(_, wider)| *wider).map(|(field, _)| field)
    }
}
