//! Execs: commands that the agent runs. One operation a file.
//!
//! [`exec::exec`] creates one, follows its output by an [`output_reader::OutputReader`] over as many connections as it
//! takes, and stops it where the caller requests that; [`ladder::Ladder`] decides by which signals.

pub mod create;
pub mod delete;
pub mod exec;
pub mod feed_stdin;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
pub mod get;
pub mod get_output;
pub mod id;
pub(crate) mod internal_exec;
pub(crate) mod ladder;
pub mod list;
pub mod list_stream;
mod output_lost;
pub mod output_reader;
pub mod run_script;
pub mod send_stdin;
pub mod signal;
pub mod start;
pub(crate) mod stop;
pub(crate) mod stop_requests;
pub mod terminate;
pub mod wait;
pub mod wait_options;
