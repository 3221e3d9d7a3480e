use crate::document::{Limits, Size};

/// What holds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A control group (version 2), for all commands together.
    Cgroup,
    /// A limit of each process (`setrlimit(2)`).
    Process(RLimit),
    /// The agent, which ends the command.
    Agent,
}

/// A limit of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RLimit {
    /// `RLIMIT_CPU`, in seconds.
    CpuTime,
    /// `RLIMIT_NOFILE`
    OpenFiles,
    /// `RLIMIT_FSIZE`, in bytes.
    FileSize,
    /// `RLIMIT_NPROC`, which in a namespace of users of its own counts the box alone (since Linux 5.14).
    Processes,
    /// `RLIMIT_DATA`, in bytes: of each process, not of all together.
    Data,
}

/// A limit that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its field, like `limits.memory`.
    pub field: &'static str,
    /// By what.
    pub mechanism: Mechanism,
    /// Bytes, seconds, a count; milliseconds of wall time; thousandths of a processor.
    pub value: u64,
}

/// What this machine has to hold limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// The controllers of the control group that the agent may divide: `cpu`, `memory`, `pids`.
    pub controllers: Vec<String>,
    /// Whether commands have a namespace of users of their own, in which their processes are counted.
    pub own_users: bool,
}

/// Limits that can't be held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} can't be held here, where no control group of version 2 has {}: leave it out, run commands in an image, whose engine holds it (`sandpipe agent --image`), or let the policy say \"bestEffort\": true",
    fields.join(" and "),
    controllers.join(", ")
)]
pub struct Unheld {
    /// Their fields.
    pub fields: Vec<&'static str>,
    /// The controllers that would hold them.
    pub controllers: Vec<&'static str>,
}

/// Finds what holds each limit, as far as anything can where the policy has `bestEffort`.
///
/// # Errors
///
/// Limits that can't be held, where it has not.
pub fn hold(limits: &Limits, holders: &Holders, best_effort: bool) -> Result<Vec<Held>, Unheld> {
    let mut held = Vec::new();
    let mut unheld = Unheld { fields: Vec::new(), controllers: Vec::new() };
    let mut by_cgroup = |field,
                         controller: &'static str,
                         value: Option<u64>,
                         other: Option<RLimit>,
                         suffices: bool| {
        let Some(value) = value else {
            return;
        };
        let mechanism = if holders.controllers.iter().any(|has| has == controller) {
            Some(Mechanism::Cgroup)
        } else {
            if !suffices && !best_effort {
                unheld.fields.push(field);
                unheld.controllers.push(controller);
            }
            other.map(Mechanism::Process)
        };
        held.extend(mechanism.map(|mechanism| Held { field, mechanism, value }));
    };
    let memory = limits.memory.map(Size::bytes);
    by_cgroup("limits.memory", "memory", memory, Some(RLimit::Data), false);
    let cpu = limits.cpu.map(|cpu| u64::from(cpu.thousandths()));
    by_cgroup("limits.cpu", "cpu", cpu, None, false);
    let count = holders.own_users.then_some(RLimit::Processes);
    by_cgroup(
        "limits.processes",
        "pids",
        limits.processes.map(Into::into),
        count,
        holders.own_users,
    );
    let mut add = |field, mechanism, value: Option<u64>| {
        held.extend(value.map(|value| Held { field, mechanism, value }));
    };
    // A process of less than a second may have one.
    let seconds = limits.cpu_time.map(|span| span.duration().as_secs_f64().ceil());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    add(
        "limits.cpuTime",
        Mechanism::Process(RLimit::CpuTime),
        seconds.map(|seconds| seconds as u64),
    );
    let files = limits.open_files.map(Into::into);
    add("limits.openFiles", Mechanism::Process(RLimit::OpenFiles), files);
    let size = limits.file_size.map(Size::bytes);
    add("limits.fileSize", Mechanism::Process(RLimit::FileSize), size);
    let millis =
        limits.wall_time.map(|span| u64::try_from(span.duration().as_millis()).unwrap_or(u64::MAX));
    add("limits.wallTime", Mechanism::Agent, millis);
    add("limits.output", Mechanism::Agent, limits.output.map(Size::bytes));
    if unheld.fields.is_empty() { Ok(held) } else { Err(unheld) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    fn all() -> Limits {
        let policy = r#"{ "limits": { "memory": "2 GiB", "cpu": 2, "cpuTime": "1500 ms", "processes": 512, "openFiles": 4096,
            "fileSize": "4 GiB", "wallTime": "30 min", "output": "1 GiB" } }"#;
        parse(policy).unwrap().limits
    }

    fn mechanisms(held: &[Held]) -> Vec<(&'static str, Mechanism, u64)> {
        held.iter().map(|held| (held.field, held.mechanism, held.value)).collect()
    }

    const OF_PROCESSES: [(&str, Mechanism, u64); 5] = [
        ("limits.cpuTime", Mechanism::Process(RLimit::CpuTime), 2),
        ("limits.openFiles", Mechanism::Process(RLimit::OpenFiles), 4096),
        ("limits.fileSize", Mechanism::Process(RLimit::FileSize), 4 << 30),
        ("limits.wallTime", Mechanism::Agent, 1_800_000),
        ("limits.output", Mechanism::Agent, 1 << 30),
    ];

    #[test]
    fn a_control_group_holds_all() {
        let controllers = ["cpu", "memory", "pids"].map(str::to_owned).to_vec();
        let held = hold(&all(), &Holders { controllers, own_users: false }, false).unwrap();
        let mut expected = vec![
            ("limits.memory", Mechanism::Cgroup, 2 << 30),
            ("limits.cpu", Mechanism::Cgroup, 2000),
            ("limits.processes", Mechanism::Cgroup, 512),
        ];
        expected.extend(OF_PROCESSES);
        assert_eq!(mechanisms(&held), expected);
    }

    #[test]
    fn what_can_not_be_held_is_refused_with_what_would_hold_it() {
        let error = hold(&all(), &Holders::default(), false).unwrap_err();
        assert_eq!(error.fields, ["limits.memory", "limits.cpu", "limits.processes"]);
        assert!(error.to_string().starts_with("limits.memory and limits.cpu and limits.processes can't be held here, where no control group of version 2 has memory, cpu, pids: "));
        let counted = Holders { controllers: vec!["memory".into()], own_users: true };
        assert_eq!(hold(&all(), &counted, false).unwrap_err().fields, ["limits.cpu"]);
    }

    #[test]
    fn with_best_effort_the_rest_is_held() {
        let held = hold(&all(), &Holders::default(), true).unwrap();
        let mut expected = vec![("limits.memory", Mechanism::Process(RLimit::Data), 2 << 30)];
        expected.extend(OF_PROCESSES);
        assert_eq!(mechanisms(&held), expected);
        assert_eq!(hold(&Limits::default(), &Holders::default(), false), Ok(Vec::new()));
    }
}
