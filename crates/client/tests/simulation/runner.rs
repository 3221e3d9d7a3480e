//! Runs an operation for many seeds, and shows how to repeat one that fails.

use std::any::Any;
use std::collections::BTreeSet;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::invariants;
use crate::setup::{Part, Parts, Setup};
use crate::world::World;

/// Number of seeds of each operation, unless `SIMULATION_SEEDS` says another.
const SEEDS: u64 = 1_500;

/// One in so many runs is made twice: it must be the same.
const REPEATED: u64 = 100;

/// All operations.
const NAMES: [&str; 25] = [
    "attach",
    "background",
    "background_run",
    "closed",
    "create_start_delete",
    "exec",
    "exec_stopped",
    "exec_with_input",
    "file_move",
    "file_read",
    "file_write",
    "get_output",
    "given_up",
    "kill",
    "port_list",
    "session_interrupts",
    "session_runs",
    "stream_closed",
    "stream_list",
    "stream_output",
    "terminate",
    "wait",
    "wait_for_output",
    "wait_for_port",
    "watch",
];

/// Ok, or what is wrong.
pub(crate) type Verdict = Result<(), String>;

/// Makes a call in a world and judges what came of it.
pub(crate) type Operation = fn(&World, &mut fastrand::Rng) -> Verdict;

/// What came of a run.
struct Report {
    verdict: Verdict,
    /// The same for the same run.
    fingerprint: (u64, u32, f64),
    parts: BTreeSet<Part>,
    description: String,
}

/// Runs an operation for many seeds, or for the one that `SIMULATION=NAME:SEED` names.
pub(crate) fn check(name: &str, operation: Operation) {
    assert!(NAMES.contains(&name), "{name} is missing in NAMES");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let Ok(wanted) = env::var("SIMULATION") else {
        let start = env::var("SIMULATION_START").map_or(0, |start| number(&start));
        let seeds = env::var("SIMULATION_SEEDS").map_or(SEEDS, |seeds| number(&seeds));
        return (start..start + seeds).for_each(|seed| check_seed(name, operation, seed));
    };
    let (wanted_name, seed) = wanted.split_once(':').expect("SIMULATION=NAME:SEED");
    assert!(NAMES.contains(&wanted_name), "no operation is named {wanted_name}: {NAMES:?}");
    if wanted_name == name {
        check_seed(name, operation, number(seed));
    }
}

fn check_seed(name: &str, operation: Operation, seed: u64) {
    let report = run(operation, seed, &BTreeSet::new(), false);
    if report.verdict.is_ok() && seed.is_multiple_of(REPEATED) {
        let again = run(operation, seed, &BTreeSet::new(), false);
        assert_eq!(report.fingerprint, again.fingerprint, "{name}:{seed} can't be repeated");
    }
    if report.verdict.is_err() {
        let left_out = shrink(operation, seed, report.parts);
        let Report { verdict, description, .. } = run(operation, seed, &left_out, true);
        let problem = verdict.expect_err("it has failed before");
        panic!(
            "{problem}\n{description}\n\nSIMULATION={name}:{seed} cargo test -p sandpipe-client --test simulation"
        );
    }
}

/// The parts without which a run fails as well. Without one of them another may not be needed any more.
fn shrink(operation: Operation, seed: u64, mut parts: BTreeSet<Part>) -> BTreeSet<Part> {
    let mut left_out = BTreeSet::new();
    loop {
        let before = left_out.len();
        for part in parts {
            left_out.insert(part);
            if run(operation, seed, &left_out, false).verdict.is_ok() {
                left_out.remove(&part);
            }
        }
        if left_out.len() == before {
            return left_out;
        }
        parts = run(operation, seed, &left_out, false).parts;
    }
}

fn run(operation: Operation, seed: u64, left_out: &BTreeSet<Part>, has_trace: bool) -> Report {
    let mut random = fastrand::Rng::with_seed(seed);
    let setup = Setup::of(seed, &mut random);
    let world = World::new(setup, Parts::without(left_out.clone()), has_trace);
    let judged = catch_unwind(AssertUnwindSafe(|| {
        operation(&world, &mut random)?;
        invariants::nothing_is_left(&world)
    }));
    let verdict = judged.unwrap_or_else(|panic| Err(format!("a panic: {}", message(&*panic))));
    let description = if has_trace {
        format!("{:#?}\n{}\n{}", world.setup, world.agent.describe_programs(), world.trace)
    } else {
        String::new()
    };
    Report {
        verdict,
        fingerprint: (world.executor.polls(), world.network.requests(), world.executor.now_ms()),
        parts: world.parts.kept(),
        description,
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
