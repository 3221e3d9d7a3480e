//! What reads bytes that came from elsewhere, for the fuzz targets.

pub use crate::background::fuzz::*;
pub use crate::execs::fuzz::*;
pub use crate::files::fuzz::*;
pub use crate::sessions::fuzz::*;
pub use crate::websocket::fuzz::*;

use crate::http::{MediaType, error_of_status, read_json};
use crate::{ExecId, Operation};

/// The message of the error that an answer with this status and body stands for.
pub fn refusal_message(status: u16, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body).into_owned();
    error_of_status(Operation::GetExec, status, body, None).to_string()
}

/// The path of the exec that an answer is about, or the message of the error.
pub fn created_path(body: &[u8]) -> Result<String, String> {
    let exec = read_json(Operation::CreateExec, body).and_then(ExecId::of);
    exec.map(|id| id.stream_path(0)).map_err(|error| error.to_string())
}

/// Whether a `Content-Type` names event streams.
pub fn is_event_stream(content_type: &str) -> bool {
    MediaType::of(content_type) == Some(MediaType::EventStream)
}
