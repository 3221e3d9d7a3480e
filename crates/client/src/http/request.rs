//! What is wanted of an agent, without I/O.

use sandpipe_protocol::json::{self, ToJson};

use crate::Operation;
use crate::host::Method;

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// That of Server-Sent Events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Server-Sent Events where the agent gives them for this, else JSON.
pub(crate) const EVENT_STREAM_OR_JSON: &str = "text/event-stream, application/json";

/// A request to be made.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) method: Method,
    /// Below the agent's address, with its query.
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: Option<String>,
    /// The media types that the answer may have.
    pub(crate) accept: &'static str,
    /// Makes a create repeatable: the agent gives the same exec for the same key.
    pub(crate) idempotency_key: Option<String>,
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
            may_wait: false,
            once: false,
        }
    }

    /// One that reads Server-Sent Events.
    pub(crate) fn stream(operation: Operation, path: String) -> Self {
        Self { accept: EVENT_STREAM, ..Self::get(operation, path) }
    }

    /// One that removes.
    pub(crate) fn delete(operation: Operation, path: String) -> Self {
        Self { method: Method::Delete, ..Self::get(operation, path) }
    }

    /// One that sends JSON, and reads JSON.
    pub(crate) fn post(operation: Operation, path: String, body: &dyn ToJson) -> Self {
        let body = Some(json::to_string(body));
        Self { method: Method::Post, body, ..Self::get(operation, path) }
    }
}
