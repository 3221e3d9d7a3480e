//! The client under simulation: virtual time, an agent that obeys the agent's interface, and a network with
//! faults, all decided by a seed.
//!
//! A [`world::World`] is all there is in a run. An [`executor::Executor`] runs everything. [`host::SimHost`] is what the client has of its surroundings; it
//! sends through a [`network::Network`], whose faults come of a [`faults::FaultPlan`], to an
//! [`agent::SimAgent`], whose execs run a [`agent::program::Program`].
//!
//! Each file of `operations/` has a call made by the thousand, and holds what came of it against the
//! `invariants`; `runner` does that for each seed, and tells of one that fails how to repeat it:
//!
//! ```text
//! SIMULATION=exec:4711 cargo test -p sandpipe-client --test simulation
//! ```
//!
//! `SIMULATION_SEEDS` says for how many seeds each call is made. `MUTATIONS.md` has the mistakes that are known to be found.

// Helpers of tests are not tests for clippy; they too fail by panicking.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod agent;
mod executor;
mod faults;
mod host;
mod invariants;
mod network;
mod operations;
mod runner;
mod trace;
mod world;
