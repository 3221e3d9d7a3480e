//! Execs: commands that the agent runs. One operation a file.
//!
//! [`execs::Execs`] is their client: `exec()` creates one, follows its output by an `OutputReader` over as many connections as it takes, and
//! stops it where the caller asks for that; `ladder.rs` says by which signals.

pub(crate) mod create;
pub(crate) mod delete;
pub mod exec;
#[allow(clippy::module_inception)]
pub mod execs;
pub mod feed_stdin;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
pub(crate) mod get;
mod get_output;
pub mod id;
pub(crate) mod internal_exec;
pub mod ladder;
pub mod list;
pub mod list_stream;
mod output_lost;
pub mod output_reader;
mod run_script;
pub(crate) mod send_stdin;
pub(crate) mod signal;
mod start;
pub(crate) mod stop;
pub(crate) mod stop_requests;
pub mod terminate;
mod wait;
pub mod wait_options;
