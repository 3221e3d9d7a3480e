//! Feeding a target on a stable toolchain.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use crate::{Inputs, Target, memory};

/// What came of feeding a target.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How many inputs it took.
    pub inputs: u64,
    /// How long that took.
    pub time: Duration,
    /// The most memory that a parser held for one of them, in bytes.
    pub peak: u64,
    /// The input that it failed with; it got no others after that.
    pub failure: Option<Failure>,
}

/// An input that something is wrong with.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input.
    pub input: Vec<u8>,
    /// What the target says.
    pub message: String,
}

/// Feeds a target with so many inputs, which the seed decides.
#[must_use]
pub fn run(target: &Target, inputs: u64, seed: u64) -> Outcome {
    let mut source = Inputs::new(*target, seed);
    let start = Instant::now();
    let mut failure = None;
    let mut fed = 0;
    memory::take_peak();
    while fed < inputs && failure.is_none() {
        let input = source.next_input();
        fed += 1;
        // What a target holds on to is not used again after a failure.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.check)(input))) {
            let message = panic.downcast_ref::<String>().cloned();
            let message =
                message.or_else(|| panic.downcast_ref().map(|text: &&str| (*text).into()));
            let message = message.unwrap_or_else(|| "it panicked".to_owned());
            failure = Some(Failure { input: input.to_vec(), message });
        }
    }
    Outcome { inputs: fed, time: start.elapsed(), peak: memory::take_peak(), failure }
}
