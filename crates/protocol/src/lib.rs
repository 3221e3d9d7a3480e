//! What the Sandpipe client and its agent share, defined once. Nothing here performs I/O or looks at a clock.
//!
//! - The types of the agent's HTTP interface: [`CreateExecRequest`] is what a client sends, [`ExecItem`] an exec as it is listed,
//!   [`ExecStdout`] an event of output, [`ErrorBody`] every error. The agent reads and writes them with serde; the client, which
//!   is downloaded, with the smaller [`json`].
//! - How they travel: binary frames ([`frame`]), with the characters that these cut ([`Characters`]), Server-Sent Events ([`sse`]), a JSON array that arrives in parts ([`json_array`]), and the frames of a
//!   WebSocket ([`websocket`]).
//! - What is fast enough for output: [`OutputEvent`] reads an event without copying its text, [`write_output`] writes one, by
//!   [`json_string`] and [`blocks`].
//!
//! A client feeds the bytes of a response to an [`sse::Decoder`], or to [`json_array::Elements`], and reads each event that it hands over
//! as an [`OutputEvent`].

pub mod blocks;
mod characters;
mod create;
mod error;
mod exec;
mod file;
pub mod frame;
mod health;
pub mod json;
pub mod json_array;
pub mod json_string;
mod output;
mod port;
mod signal;
pub mod sse;
mod stdin;
mod timestamp;
mod token;
mod watch;
pub mod websocket;

pub use characters::{Characters, Part};
pub use create::CreateExecRequest;
pub use error::ErrorBody;
pub use exec::{
    ExecDeleteResponse, ExecItem, ExecListChanges, ExecListResponse, ExecStart, ExecStatus,
};
pub use file::{
    DirectoryListResponse, FileAction, FileActionRequest, FileActionResponse, FileEncoding,
    FileInfo, FileOperationResponse, FileReadResponse, FileType, UploadProgress,
};
pub use health::Health;
pub use output::{EventTime, ExecStdout, Gap, OutputEvent, OutputType, write_output};
pub use port::{PortInfo, PortsListResponse};
pub use signal::SignalRequest;
pub use stdin::{ExecStdin, StdinType, TerminalSize};
pub use timestamp::Timestamp;
pub use token::{
    CreateTokenRequest, CreatedToken, TokenInfo, TokenListResponse, TokenRevokeResponse,
};
pub use watch::{WatcherEvent, WatcherEventType};

/// The exit code that an [`ExecItem`] carries as long as there is none.
pub const NO_EXIT_CODE: i32 = -1;

/// The most bytes of the process's that one event has.
pub const MAX_EVENT_OUTPUT: usize = 32 * 1024;
