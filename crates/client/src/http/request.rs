//! What is wanted of an agent, without I/O.

use sandpipe_protocol::json::{self, ToJson};

use crate::Operation;
use crate::host::Method;

/// The kinds of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    /// A JSON value.
    Json,
    /// Server-Sent Events.
    EventStream,
}

impl MediaType {
    /// As the header `Content-Type` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::EventStream => "text/event-stream",
        }
    }
}

/// The kind of body that an answer is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accept {
    /// A JSON value.
    Json,
    /// Server-Sent Events.
    EventStream,
    /// The latter where the agent gives one for this.
    JsonOrEventStream,
}

impl Accept {
    /// The media types, without parameters.
    pub(crate) fn media_types(self) -> &'static [MediaType] {
        match self {
            Self::Json => &[MediaType::Json],
            Self::EventStream => &[MediaType::EventStream],
            Self::JsonOrEventStream => &[MediaType::EventStream, MediaType::Json],
        }
    }

    /// The header's value.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Json => MediaType::Json.name(),
            Self::EventStream => MediaType::EventStream.name(),
            Self::JsonOrEventStream => "text/event-stream, application/json",
        }
    }
}

/// A request to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// What it is for.
    pub(crate) operation: Operation,
    /// What it does.
    pub(crate) method: Method,
    /// Below the agent's address, with its query.
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: Option<String>,
    /// The kind of body that the answer is to have.
    pub(crate) accept: Accept,
    /// Makes a create repeatable: the agent gives the same exec for the same key.
    pub(crate) idempotency_key: Option<String>,
    /// The agent may take its time to answer: until a process has read its input.
    pub(crate) may_wait: bool,
}

impl Request {
    /// One that reads JSON.
    pub(crate) fn get(operation: Operation, path: String) -> Self {
        Self {
            operation,
            method: Method::Get,
            path,
            body: None,
            accept: Accept::Json,
            idempotency_key: None,
            may_wait: false,
        }
    }

    /// One that reads Server-Sent Events.
    pub(crate) fn stream(operation: Operation, path: String) -> Self {
        Self { accept: Accept::EventStream, ..Self::get(operation, path) }
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
