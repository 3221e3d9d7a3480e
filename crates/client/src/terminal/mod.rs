//! A terminal at an exec: its output, its input, its exit code.

pub mod attach;
#[allow(clippy::module_inception)]
pub mod terminal;
mod write_queue;
