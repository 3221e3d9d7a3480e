//! A terminal at an exec: its output, its input, its exit code.
//!
//! [`attach::attach`] gives a [`terminal::Terminal`]; what is typed goes through `write_queue.rs`, in order.

pub mod attach;
#[allow(clippy::module_inception)]
pub mod terminal;
mod write_queue;
