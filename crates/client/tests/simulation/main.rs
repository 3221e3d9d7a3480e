//! The client in simulation: virtual time, an agent that obeys the agent's interface, and a network with faults. A seed
//! decides everything, so that a run which fails can be repeated.
//!
//! What there is in a run, a [`world::World`]:
//! - [`setup::Setup`]: what the seed decides of the agent, the network and the client's host.
//! - [`executor::Executor`]: runs all tasks and moves the clock when none is ready. A run takes no real time.
//! - [`host::SimHost`]: the host of the client. It sends requests through the
//! - [`network::Network`], which takes time, and fails as [`faults::FaultPlan`] says, on the way to the
//! - [`agent::SimAgent`]. Its execs carry out a [`agent::program::Program`]: a list of steps.
//! - [`target::SimTarget`]: in place of the network for background processes. It answers their scripts without a shell.
//!
//! How a run goes: [`runner::check`] makes a world for each seed and calls an operation, a test in `operations/`. That
//! installs programs, makes a call of the client and holds the result against what the agent knows, with the
//! `invariants`: the exit code is true, each byte comes once, a command runs once, what is told to stop stops, and
//! nothing goes on afterwards. How often requests fail depends on the seed: never, so that the client has to survive it,
//! or without limit, where an error is allowed that tells the truth.
//!
//! What there is not: two faults of one request, a gateway whose errors look like the agent's, and a runtime of the
//! caller's that ends its script when it is told to.
//!
//! A seed that fails is printed with the least that makes it fail: faults, steps and stops are left out one by one. With
//! it come the setup, the programs, all requests with their times, and the command that repeats it:
//!
//! ```text
//! SIMULATION=exec:4711 cargo test -p sandpipe-client --test simulation
//! ```
//!
//! `SIMULATION_START` is the first seed of each operation, and `SIMULATION_SEEDS` how many there are. `npm test` takes
//! the first one from the commit, so that each commit tries others. `operations/regressions/` has what was found once,
//! and MUTATIONS.md mistakes that are known to be found.

// Functions of tests are not tests for clippy; they too fail by panicking.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod agent;
mod executor;
mod faults;
mod host;
mod invariants;
mod network;
mod operations;
mod retry_hooks;
mod runner;
mod setup;
mod target;
mod world;
