//! What the Sandpipe client and agent share, defined once: the wire types of the agent's HTTP
//! interface, and Server-Sent Events.
//!
//! Nothing here performs I/O or looks at a clock.

pub mod blocks;
mod create;
mod error;
mod exec;
mod health;
pub mod json;
pub mod json_array;
pub mod json_string;
mod output;
mod signal;
pub mod sse;
mod stdin;
pub mod websocket;

pub use create::CreateExecRequest;
pub use error::ErrorBody;
pub use exec::{
    ExecDeleteResponse, ExecItem, ExecListChanges, ExecListResponse, ExecStart, ExecStatus,
};
pub use health::Health;
pub use output::{ExecStdout, Gap, OutputEvent, OutputType, write_output};
pub use signal::SignalRequest;
pub use stdin::{ExecStdin, StdinType, TerminalSize};

/// The exit code that an [`ExecItem`] carries as long as there is none.
pub const NO_EXIT_CODE: i32 = -1;

/// The most bytes of UTF-8 that one [`ExecStdout`] holds.
pub const MAX_EVENT_OUTPUT: usize = 32 * 1024;
