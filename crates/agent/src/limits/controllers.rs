use sandpipe_policy::{
    document::Limits,
    walls::{Held, Mechanism},
};

/// How long a cgroup's share of the processors is counted before it counts anew, in microseconds: what the kernel has by default.
const PERIOD: u64 = 100_000;
/// The longest that it takes, for shares of which the other is too small.
const MAX_PERIOD: u64 = 1_000_000;
/// The smallest share of a period, in microseconds.
const MIN_QUOTA: u64 = 1000;

/// The controllers that hold these limits.
pub(crate) fn needed(limits: &Limits) -> Vec<&'static str> {
    let needed = [
        (limits.memory.is_some(), "memory"),
        (limits.cpu.is_some(), "cpu"),
        (limits.processes.is_some(), "pids"),
    ];
    needed.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, name)| name).collect()
}

/// Whether a `cgroup.controllers` or a `cgroup.subtree_control` names a controller.
pub(super) fn names(text: &str, controller: &str) -> bool {
    text.split_ascii_whitespace().any(|name| name == controller)
}

/// The files of a cgroup that hold these limits, and what is written to them.
pub(super) fn settings(held: &[Held]) -> Vec<(&'static str, String)> {
    let by_cgroup = held.iter().filter(|held| held.mechanism == Mechanism::Cgroup);
    let setting = |held: &Held| match held.field {
        "limits.memory" => Some(("memory.max", held.value.to_string())),
        "limits.cpu" => Some(("cpu.max", cpu_max(held.value))),
        "limits.processes" => Some(("pids.max", held.value.to_string())),
        _ => None,
    };
    by_cgroup.filter_map(setting).collect()
}

/// So many thousandths of a processor.
fn cpu_max(thousandths: u64) -> String {
    let quota = |period: u64| thousandths.saturating_mul(period / 1000);
    let period = if quota(PERIOD) < MIN_QUOTA { MAX_PERIOD } else { PERIOD };
    format!("{} {period}", quota(period).max(MIN_QUOTA))
}

/// The value of such a limit, if a cgroup holds it.
pub(super) fn value(held: &[Held], field: &str) -> Option<u64> {
    let is_it = |held: &&Held| held.field == field && held.mechanism == Mechanism::Cgroup;
    held.iter().find(is_it).map(|held| held.value)
}

/// How often something has happened, by a `memory.events` or a `pids.events`.
pub(super) fn count(events: &str, name: &str) -> u64 {
    let count = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
    events.lines().find_map(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use sandpipe_policy::{document::parse, walls::RLimit};

    use super::*;

    #[test]
    fn each_limit_needs_its_controller() {
        let limits = |text: &str| parse(text).unwrap().limits;
        let all = limits(r#"{ "limits": { "memory": "2 GiB", "cpu": 2, "processes": 512 } }"#);
        assert_eq!(needed(&all), ["memory", "cpu", "pids"]);
        assert_eq!(needed(&limits(r#"{ "limits": { "wallTime": "1 s" } }"#)), [""; 0]);
        assert_eq!(needed(&limits(r#"{ "limits": { "processes": 5 } }"#)), ["pids"]);
    }

    #[test]
    fn a_controller_is_known_by_its_whole_name() {
        let text = "cpuset cpu io memory hugetlb pids rdma misc\n";
        assert!(["cpu", "memory", "pids"].iter().all(|name| names(text, name)));
        assert!(!names("cpuset io\n", "cpu"));
        assert!(!names("", "cpu"));
    }

    #[test]
    fn limits_are_written_as_the_kernel_reads_them() {
        let held = |field, mechanism, value| Held { field, mechanism, value };
        let all = [
            held("limits.memory", Mechanism::Cgroup, 1 << 30),
            held("limits.cpu", Mechanism::Cgroup, 1500),
            held("limits.processes", Mechanism::Cgroup, 512),
            held("limits.fileSize", Mechanism::Process(RLimit::FileSize), 1),
            held("limits.wallTime", Mechanism::Agent, 1),
        ];
        let expected =
            [("memory.max", "1073741824"), ("cpu.max", "150000 100000"), ("pids.max", "512")];
        assert_eq!(settings(&all), expected.map(|(file, text)| (file, text.to_owned())));
        let by_process = [held("limits.processes", Mechanism::Process(RLimit::Processes), 512)];
        assert_eq!(settings(&by_process), []);
        assert_eq!(value(&by_process, "limits.processes"), None);
        assert_eq!(value(&all, "limits.processes"), Some(512));
    }

    #[test]
    fn a_small_share_of_a_processor_is_one_the_kernel_takes() {
        assert_eq!(cpu_max(10), "1000 100000");
        assert_eq!(cpu_max(9), "9000 1000000");
        assert_eq!(cpu_max(1), "1000 1000000");
        assert_eq!(cpu_max(0), "1000 1000000");
    }

    #[test]
    fn events_are_counted_by_their_whole_name() {
        let events = "low 0\nhigh 0\nmax 90\noom 2\noom_kill 3\noom_group_kill 1\n";
        assert_eq!(count(events, "oom"), 2);
        assert_eq!(count(events, "oom_kill"), 3);
        assert_eq!(count(events, "oom_"), 0);
        assert_eq!(count("", "max"), 0);
        assert_eq!(count("max many\n", "max"), 0);
    }
}
