//! The core where it runs, against a real agent: one program, run in Node and in a browser.
#![cfg(all(test, target_arch = "wasm32"))]
// clippy.toml lets tests panic, but clippy doesn't take these for tests.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::option_env_unwrap,
    clippy::panic,
    clippy::unwrap_used
)]

mod agent;
mod exec;
mod failures;
mod streams;
mod text;
