//! The paths of execs, one operation a file.

pub(super) mod create;
pub(super) mod delete;
mod exec_path;
pub(super) mod get;
mod idempotency_key;
pub(super) mod list;
mod list_json;
pub(super) mod output;
mod responses;
pub(super) mod signal;
pub(super) mod start;
pub(super) mod stdin;
pub(super) mod stream_list;
pub(super) mod stream_output;
pub(super) mod websocket;
