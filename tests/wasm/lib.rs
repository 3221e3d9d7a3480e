//! The core where it runs, against a real agent: one program, run in Node and in a browser.
#![cfg(all(test, target_arch = "wasm32"))]

mod agent;
mod exec;
mod failures;
mod streams;
