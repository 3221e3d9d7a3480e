//! What is told where a test fails: the processes of its agents, what these do, and what the agents have logged.

use std::{
    backtrace::Backtrace,
    cell::{Cell, RefCell},
    fmt::Write,
    fs,
};

use super::{
    log::Log,
    processes::{command_line_of, descendants_of, marked_by_this_process, parents, state_of},
};

/// More of a command line says nothing more, nor do more processes.
const MAX_COMMAND_LINE: usize = 200;
const MAX_PROCESSES: usize = 60;

thread_local! {
    /// The agents that the test of this thread has started, with their logs.
    static AGENTS: RefCell<Vec<(u32, Log)>> = const { RefCell::new(Vec::new()) };
    /// One report tells all.
    static IS_TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Remembers an agent of the test that runs.
pub(super) fn remember(pid: u32, log: Log) {
    AGENTS.with_borrow_mut(|agents| agents.push((pid, log)));
}

/// Forgets those that a test is done with.
pub(super) fn forget(pids: &[u32]) {
    AGENTS.with_borrow_mut(|agents| agents.retain(|(agent, _)| !pids.contains(agent)));
}

/// Fails, since something has not come true in time.
pub(super) fn fail(what: &str) -> ! {
    let report = report();
    IS_TOLD.set(true);
    panic!("{what}\n{}\n{report}", callers());
}

/// Tells of the agents where a test fails for another reason.
#[allow(clippy::print_stderr)]
pub(super) fn tell() {
    if !IS_TOLD.replace(true) {
        eprintln!("{}", report());
    }
}

/// The lines of the tests that have led here.
fn callers() -> String {
    let backtrace = Backtrace::force_capture().to_string();
    let places = backtrace.lines().filter_map(|line| line.trim().strip_prefix("at "));
    let is_of_test =
        |place: &&str| place.contains("tests/agent/") && !place.contains("tests/agent/support");
    let lines: Vec<_> = places.filter(is_of_test).map(|place| format!("  at {place}")).collect();
    lines.join("\n")
}

fn report() -> String {
    let mut report = String::new();
    AGENTS.with_borrow(|agents| {
        for (pid, log) in agents {
            write!(report, "the agent {pid}:\n{}", processes(*pid)).unwrap();
            writeln!(report, "its log:\n{log}").unwrap();
        }
    });
    let mut others = marked_by_this_process();
    AGENTS.with_borrow(|agents| {
        let of_agents: Vec<_> = agents.iter().map(|(pid, _)| descendants_of(*pid)).collect();
        others.retain(|pid| !of_agents.iter().any(|descendants| descendants.contains(pid)));
    });
    if !others.is_empty() {
        report += "marked processes that are no agent's descendants:\n";
        report.extend(others.into_iter().take(MAX_PROCESSES).map(|pid| line(pid, 1)));
    }
    report
}

/// A process, with its threads where there are several, and those that have come of it.
pub(super) fn processes(pid: u32) -> String {
    let parents = parents();
    let mut lines = String::new();
    let mut next = vec![(pid, 1)];
    let mut count = 0;
    while let Some((pid, depth)) = next.pop() {
        count += 1;
        if count <= MAX_PROCESSES {
            lines += &line(pid, depth);
            lines += &threads(pid, depth + 1);
        }
        let children = parents.iter().filter(|(_, parent)| *parent == pid);
        next.extend(children.map(|(child, _)| (*child, depth + 1)));
    }
    if count > MAX_PROCESSES {
        writeln!(lines, "  and {} more", count - MAX_PROCESSES).unwrap();
    }
    lines
}

fn line(pid: u32, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let Some(state) = state_of(pid) else {
        return format!("{indent}{pid} has ended\n");
    };
    let mut command = command_line_of(pid).replace('\0', " ");
    if command.is_empty() {
        command = read(&format!("/proc/{pid}/comm"));
    }
    let command: String = command.chars().take(MAX_COMMAND_LINE).collect();
    let waits = read(&format!("/proc/{pid}/wchan"));
    format!("{indent}{pid} {state} {waits}: {}\n", command.trim_end())
}

fn threads(pid: u32, depth: usize) -> String {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tasks: Vec<_> = tasks.map(|task| task.path()).collect();
    if tasks.len() < 2 {
        return String::new();
    }
    let thread = |task: &std::path::PathBuf| {
        let part = |name: &str| read(task.join(name).to_str().unwrap());
        let stat = part("stat");
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        let name = part("comm");
        format!("{}{} {} {name}\n", "  ".repeat(depth), state.unwrap_or('?'), part("wchan"))
    };
    let mut lines: Vec<_> = tasks.iter().map(thread).collect();
    lines.sort();
    let mut told = String::new();
    for same in lines.chunk_by(|one, other| one == other) {
        told += &same[0].replace('\n', &format!(" ({})\n", same.len()));
    }
    told
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
