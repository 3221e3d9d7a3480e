//! Fuzz targets: one for each parser of what comes from the network, or from the disk of an agent that
//! died.
//!
//! A [`Target`] is a function that takes bytes and panics where something is wrong: a parser panics, takes
//! more memory than its [`memory::Bound`] allows, or says something else than a plain reference does.
//! `cargo fuzz run NAME` has them found by libFuzzer, which needs a nightly toolchain; the program of this
//! crate makes its inputs itself ([`Inputs`]) and runs on stable. `npm run fuzz` runs all of them.

// A target fails by panicking.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod bytes;
mod inputs;
pub mod memory;
mod run;
mod target;
mod targets;

#[cfg(fuzzing)]
pub use libfuzzer_sys;

pub use inputs::Inputs;
pub use run::{Failure, Outcome, run};
pub use target::Target;
pub use targets::{TARGETS, target};

/// The program of one target for `cargo fuzz`.
#[macro_export]
macro_rules! libfuzzer_target {
    ($name:literal) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| {
            ($crate::target($name).expect("the target is listed").check)(input);
        });

        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                concat!("run it with `cargo +nightly fuzz run ", $name, "`\n").as_bytes(),
            );
            std::process::ExitCode::FAILURE
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of what `npm run fuzz` does at length.
    const INPUTS: u64 = 2_000;

    /// The seed of the sample: `npm test` takes it from the commit, so that each commit tries other inputs.
    fn seed() -> u64 {
        std::env::var("FUZZ_SEED").map_or(1, |seed| seed.parse().expect("a number"))
    }

    #[test]
    fn no_target_fails_with_a_sample_of_inputs() {
        let seed = seed();
        for target in TARGETS {
            let outcome = run(target, INPUTS, seed);
            let message = outcome.failure.map(|failure| failure.message);
            assert_eq!(message, None, "FUZZ_SEED={seed}, {}", target.name);
            assert_eq!(outcome.inputs, INPUTS, "{}", target.name);
        }
    }

    #[test]
    fn every_target_is_a_program_of_cargo_fuzz() {
        let manifest = include_str!("../Cargo.toml");
        for Target { name, .. } in TARGETS {
            let path = format!("fuzz_targets/{}.rs", name.replace('-', "_"));
            let stanza = format!("[[bin]]\nname = \"{name}\"\npath = \"{path}\"\n");
            assert!(manifest.contains(&stanza), "{name} is missing in fuzz/Cargo.toml");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len() + 1);
    }

    #[test]
    fn what_panics_is_reported_with_its_input() {
        let broken = Target {
            name: "broken",
            check: |input| assert!(!input.contains(&b'!'), "an exclamation mark"),
            seeds: &[b"hello"],
            words: &[b"!"],
        };
        let failure = run(&broken, 100_000, 1).failure.unwrap();
        assert!(failure.message.contains("an exclamation mark"));
        assert!(failure.input.contains(&b'!'));
    }

    #[test]
    fn what_takes_too_much_memory_is_reported() {
        let greedy = Target {
            name: "greedy",
            check: |input| {
                memory::Bound::new(100, 2).hold(input, || vec![0_u8; input.len() * input.len()]);
            },
            seeds: &[b"hello"],
            words: &[],
        };
        let failure = run(&greedy, 100_000, 1).failure.unwrap();
        assert!(failure.message.contains("bytes of memory"), "{}", failure.message);
    }
}
