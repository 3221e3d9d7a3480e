//! What is wanted of an agent, without I/O.

use std::rc::Rc;

use sandpipe_protocol::json::{self, ToJson};

use crate::Operation;
use crate::host::{Method, RequestBody};

/// An answer in JSON.
pub(crate) const JSON: &str = "application/json";

/// Bytes as they are.
pub(crate) const BYTES: &str = "application/octet-stream";

/// A tar stream.
pub(crate) const TAR: &str = "application/x-tar";

/// Server-Sent Events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// The events of an output: in binary frames where the agent has them (the extension `frames`), else as Server-Sent Events. The
/// answer says which.
pub(crate) const OUTPUT: &str = "application/vnd.sandpipe.output, text/event-stream";

/// The same where the agent gives an output for this, else JSON.
pub(crate) const OUTPUT_OR_JSON: &str =
    "application/vnd.sandpipe.output, text/event-stream, application/json";

/// Binary frames where the agent has them, else JSON.
pub(crate) const FRAMES_OR_JSON: &str = "application/vnd.sandpipe.output, application/json";

/// A request to be made.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) method: Method,
    /// Below the agent's address, with its query.
    pub(crate) path: String,
    pub(crate) body: Option<RequestBody>,
    /// The media types that the answer may have.
    pub(crate) accept: &'static str,
    /// Makes a create repeatable: the agent gives the same exec for the same key.
    pub(crate) idempotency_key: Option<String>,
    /// Other headers, by names in lower case.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The agent may take its time to answer: until a process has read its input.
    pub(crate) may_wait: bool,
    /// `ask` and `send` make it but once, however it fails: whoever calls them decides whether it is made again.
    pub(crate) once: bool,
}

impl Request {
    /// One that reads JSON.
    pub(crate) fn get(operation: Operation, path: String) -> Self {
        Self {
            operation,
            method: Method::Get,
            path,
            body: None,
            accept: JSON,
            idempotency_key: None,
            headers: Vec::new(),
            may_wait: false,
            once: false,
        }
    }

    /// One that removes.
    pub(crate) fn delete(operation: Operation, path: String) -> Self {
        Self { method: Method::Delete, ..Self::get(operation, path) }
    }

    /// One that sends JSON, and reads JSON.
    pub(crate) fn post(operation: Operation, path: String, body: &dyn ToJson) -> Self {
        let body = Some(RequestBody::Json(json::to_string(body)));
        Self { method: Method::Post, body, ..Self::get(operation, path) }
    }

    /// One that sends bytes, and reads JSON.
    pub(crate) fn post_bytes(operation: Operation, path: String, bytes: Rc<[u8]>) -> Self {
        let body = Some(RequestBody::Bytes(bytes));
        Self { method: Method::Post, body, ..Self::get(operation, path) }
    }
    /// One that writes bytes, and reads JSON.
    pub(crate) fn put_bytes(operation: Operation, path: String, bytes: Rc<[u8]>) -> Self {
        Self { method: Method::Put, ..Self::post_bytes(operation, path, bytes) }
    }

    /// One that changes something as JSON says, and reads JSON.
    pub(crate) fn patch(operation: Operation, path: String, body: &dyn ToJson) -> Self {
        Self { method: Method::Patch, ..Self::post(operation, path, body) }
    }
}
