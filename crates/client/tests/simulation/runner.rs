//! Runs an operation for many seeds, and tells how to repeat one that fails.

use std::any::Any;
use std::collections::BTreeSet;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::faults::Kind;
use crate::invariants;
use crate::world::{Setup, World};

/// How many seeds each operation is run for, unless `SIMULATION_SEEDS` says.
const SEEDS: u64 = 7_500;

/// One in so many runs is made twice: it must be the same.
const REPEATED: u64 = 100;

/// Ok, or what is wrong.
pub(crate) type Verdict = Result<(), String>;

/// Makes a call in a world and judges what came of it.
pub(crate) type Operation = fn(&World, &mut fastrand::Rng) -> Verdict;

/// What came of a run.
struct Report {
    verdict: Verdict,
    /// The same for the same run.
    fingerprint: (u64, u32, f64),
    faults: Vec<(Kind, u32)>,
    description: String,
}

/// Runs an operation for many seeds, or for the one that `SIMULATION=NAME:SEED` names.
pub(crate) fn check(name: &str, operation: Operation) {
    if let Ok(wanted) = env::var("SIMULATION") {
        let (wanted_name, seed) = wanted.split_once(':').expect("SIMULATION=NAME:SEED");
        if wanted_name == name {
            let seed = seed.parse().expect("SIMULATION=NAME:SEED");
            check_seed(name, operation, seed);
        }
        return;
    }
    let seeds =
        env::var("SIMULATION_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"));
    for seed in 0..seeds {
        check_seed(name, operation, seed);
    }
}

fn check_seed(name: &str, operation: Operation, seed: u64) {
    let spared = BTreeSet::new();
    let report = run(operation, seed, &spared, false);
    if report.verdict.is_ok() && seed.is_multiple_of(REPEATED) {
        let again = run(operation, seed, &spared, false);
        assert_eq!(report.fingerprint, again.fingerprint, "{name}:{seed} can't be repeated");
    }
    if report.verdict.is_err() {
        let spared = spare_faults(operation, seed, report.faults);
        let Report { verdict, description, .. } = run(operation, seed, &spared, true);
        let problem = verdict.expect_err("it has failed before");
        panic!(
            "{problem}\n{description}\n\nSIMULATION={name}:{seed} cargo test -p sandpipe-client --test simulation"
        );
    }
}

/// The faults without which it fails as well.
fn spare_faults(
    operation: Operation,
    seed: u64,
    faults: Vec<(Kind, u32)>,
) -> BTreeSet<(Kind, u32)> {
    let mut spared = BTreeSet::new();
    for fault in faults {
        spared.insert(fault);
        if run(operation, seed, &spared, false).verdict.is_ok() {
            spared.remove(&fault);
        }
    }
    spared
}

fn run(operation: Operation, seed: u64, spared: &BTreeSet<(Kind, u32)>, has_trace: bool) -> Report {
    let mut random = fastrand::Rng::with_seed(seed);
    let setup = Setup { spared: spared.clone(), ..Setup::of(seed, &mut random) };
    let world = World::new(setup, has_trace);
    let judged = catch_unwind(AssertUnwindSafe(|| {
        operation(&world, &mut random)?;
        invariants::nothing_is_left(&world)
    }));
    let verdict = judged.unwrap_or_else(|panic| Err(format!("a panic: {}", message(&*panic))));
    let description =
        if has_trace { format!("{:#?}\n{}", world.setup, world.trace) } else { String::new() };
    Report {
        verdict,
        fingerprint: (world.executor.polls(), world.network.requests(), world.executor.now_ms()),
        faults: world.faults.drawn(),
        description,
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
