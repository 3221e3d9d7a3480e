//! Execs: commands that the agent runs. One operation a file.
//!
//! [`exec()`] creates one, follows its output by an [`OutputReader`] over as many connections as it takes, and stops it
//! where the caller requests that; `ladder.rs` decides by which signals.

mod bytes;
mod create;
mod delete;
mod exec;
mod feed_stdin;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod get;
mod get_output;
mod input;
mod internal_exec;
mod ladder;
mod list;
mod list_stream;
mod output_lost;
mod output_reader;
mod run_script;
mod send_stdin;
mod signal;
mod start;
mod stop;
mod stop_requests;
mod terminate;
mod wait;
mod wait_for_output;
mod wait_options;

pub use create::create;
pub use delete::delete;
pub use exec::{ExecArguments, exec, exec_and_tell};
pub use feed_stdin::{MAX_STDIN_CHUNK_BYTES, feed_stdin, send_input};
pub use get::get;
pub use get_output::{ExecSnapshot, get_output};
pub use input::{Input, InputSource};
pub use list::{ListEvent, list};
pub use list_stream::ListStream;
pub use output_reader::OutputReader;
pub use run_script::{run_script, run_script_and_forget};
pub use send_stdin::send_stdin;
pub use signal::kill;
pub use start::start;
pub use terminate::{TerminateOptions, TerminateResult, terminate};
pub use wait::wait;
pub use wait_for_output::{FoundOutput, WaitForOutputOptions, wait_for_output};
pub use wait_options::{DEFAULT_GRACE_MS, Ignored, WaitOptions};

pub(crate) use feed_stdin::{stdin_chunks, write_all};
pub(crate) use input::{Utf8Pieces, next_piece};
pub(crate) use internal_exec::run_internal;
pub(crate) use ladder::{Ladder, Rung, Trigger};
pub(crate) use signal::{ProcessGroup, SignalResult};
pub(crate) use stop::next_trigger;
pub(crate) use stop_requests::{StopRequest, StopRequests};
pub(crate) use wait_for_output::REST_TIMEOUT_MS;
