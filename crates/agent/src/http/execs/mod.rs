//! The paths of execs, one operation a file.
//!
//! `exec_path.rs` and `idempotency_key.rs` read what several of them take from a request, `responses.rs` describes the errors that they
//! share for the `OpenAPI` document. Output is sent as a whole (`output.rs`), as a stream (`stream_output.rs`, also for a create that is answered
//! with one) or as frames of a WebSocket (`websocket.rs`).

pub(super) mod create;
pub(super) mod delete;
mod exec_path;
pub(super) mod get;
mod idempotency_key;
pub(super) mod list;
mod list_json;
pub(super) mod output;
pub(super) mod responses;
pub(super) mod signal;
pub(super) mod start;
pub(super) mod stdin;
pub(super) mod stream_list;
pub(super) mod stream_output;
pub(super) mod websocket;
