//! The walls, around programs that try what a policy forbids. Where no walls can be built these tests say so.

// A test fails by panicking.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod commits;
mod files;
mod git;
mod support;
mod system_calls;
