//! Requests to the agent and the reading of its answers, without I/O.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sandpipe_protocol::json::{self, FromJson, Problem, ToJson};
use sandpipe_protocol::{ErrorBody, ExecItem};

use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// The kinds of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    Json,
    EventStream,
}

impl MediaType {
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
    Json,
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
    pub(crate) fn header(self) -> String {
        let names: Vec<_> = self.media_types().iter().map(|media_type| media_type.name()).collect();
        names.join(", ")
    }
}

/// A request to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) method: Method,
    /// Below the agent's address, with its query.
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: Option<String>,
    pub(crate) accept: Accept,
    /// Makes a create repeatable: the agent gives the same exec for the same key.
    pub(crate) idempotency_key: Option<String>,
    /// The agent may take its time to answer: until a process has read its input.
    pub(crate) waits: bool,
}

impl Request {
    pub(crate) fn get(operation: Operation, path: String) -> Self {
        Self {
            operation,
            method: Method::Get,
            path,
            body: None,
            accept: Accept::Json,
            idempotency_key: None,
            waits: false,
        }
    }

    pub(crate) fn stream(operation: Operation, path: String) -> Self {
        Self { accept: Accept::EventStream, ..Self::get(operation, path) }
    }

    pub(crate) fn delete(operation: Operation, path: String) -> Self {
        Self { method: Method::Delete, ..Self::get(operation, path) }
    }

    pub(crate) fn post(operation: Operation, path: String, body: &dyn ToJson) -> Self {
        let body = Some(json::to_string(body));
        Self { method: Method::Post, body, ..Self::get(operation, path) }
    }
}

/// An exec's id, safe to be put in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExecId(String);

/// What `encodeURIComponent` leaves as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'!')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

impl ExecId {
    /// The id, unless it would name another resource: an empty path segment is the list's, and
    /// URLs drop `.` and `..` also where they are percent-encoded (WHATWG URL, "double-dot").
    pub(crate) fn parse(id: String) -> Option<Self> {
        (!matches!(id.as_str(), "" | "." | "..")).then_some(Self(id))
    }

    /// The id of an exec that the agent has just created.
    pub(crate) fn of(exec: ExecItem) -> Result<Self> {
        Self::parse(exec.id).ok_or_else(|| {
            Box::new(Error::Protocol {
                operation: Operation::CreateExec,
                problem: "the agent gave the exec no usable id".to_owned(),
                excerpt: String::new(),
            })
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// `/api/v1/execs/{id}`, and what comes after it.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/v1/execs/{}{rest}", self.segment())
    }

    /// `/api/v1/stream/execs/{id}/io`, the events after `last_sequence`.
    pub(crate) fn stream_path(&self, last_sequence: i64) -> String {
        format!("/api/v1/stream/execs/{}/io?lastSequence={last_sequence}", self.segment())
    }

    /// `/ws/v1/execs/{id}`, the output after `last_sequence`.
    pub(crate) fn socket_path(&self, last_sequence: i64) -> String {
        format!("/ws/v1/execs/{}?lastSequence={last_sequence}", self.segment())
    }

    fn segment(&self) -> impl fmt::Display + '_ {
        utf8_percent_encode(&self.0, SEGMENT)
    }
}

/// The error that an answer with another status than 2xx stands for.
pub(crate) fn refusal(
    operation: Operation,
    status: u16,
    body: String,
    retry_after_ms: Option<f64>,
) -> Box<Error> {
    let message = json::read::<ErrorBody>(body.as_bytes()).ok().map(|body| body.message);
    Box::new(Error::Http { operation, status, message, body, retry_after_ms, max_delay_ms: None })
}

/// The reading of answers, for the fuzz targets.
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz {
    use super::{ExecId, MediaType, Operation, read_json, refusal};
    use crate::transport::is_media_type;

    /// The message of the error that an answer with this status and body stands for.
    #[must_use]
    pub fn refusal_message(status: u16, body: &[u8]) -> String {
        let body = String::from_utf8_lossy(body).into_owned();
        refusal(Operation::GetExec, status, body, None).to_string()
    }

    /// The path of the exec that an answer tells of, or the message of the error.
    ///
    /// # Errors
    /// It is no exec, or one whose id can't be used.
    pub fn created_path(body: &[u8]) -> Result<String, String> {
        let exec = read_json(Operation::CreateExec, body).and_then(ExecId::of);
        exec.map(|id| id.stream_path(0)).map_err(|error| error.to_string())
    }

    /// Whether a `Content-Type` names event streams.
    #[must_use]
    pub fn is_event_stream(content_type: &str) -> bool {
        is_media_type(content_type, MediaType::EventStream.name())
    }
}

/// The value that an answer's body holds.
pub(crate) fn read_json<T: FromJson>(operation: Operation, body: &[u8]) -> Result<T> {
    json::read(body).map_err(|problem| unreadable(operation, &problem, body))
}

fn unreadable(operation: Operation, problem: &Problem, body: &[u8]) -> Box<Error> {
    let excerpt = excerpt(body);
    let problem = format!("the agent's answer is not what it should be: {problem}: {excerpt}");
    Box::new(Error::Protocol { operation, problem, excerpt })
}

/// The beginning of something that can't be understood, short enough for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LENGTH: usize = 120;
    let text = String::from_utf8_lossy(bytes.get(..LENGTH * 4).unwrap_or(bytes));
    let mut excerpt: String = text.chars().take(LENGTH).collect();
    if excerpt.len() < bytes.len() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_path_segment_whatever_it_holds() {
        let id = ExecId::parse("a/../b c?d#é".into()).unwrap();
        assert_eq!(id.path("/io"), "/api/v1/execs/a%2F..%2Fb%20c%3Fd%23%C3%A9/io");
        assert_eq!(
            id.stream_path(-7),
            "/api/v1/stream/execs/a%2F..%2Fb%20c%3Fd%23%C3%A9/io?lastSequence=-7"
        );
    }

    #[test]
    fn an_id_that_would_name_another_resource_is_none() {
        for id in ["", ".", ".."] {
            assert_eq!(ExecId::parse(id.into()), None);
        }
    }

    #[test]
    fn a_refusal_gives_the_reason_of_the_agent() {
        let error = refusal(
            Operation::GetExec,
            404,
            r#"{"code":404,"message":"no exec \"x\""}"#.into(),
            None,
        );
        assert_eq!(error.to_string(), "get exec: the agent answered 404: no exec \"x\"");
        let error = refusal(Operation::GetExec, 502, "<html>Bad Gateway</html>".into(), None);
        assert_eq!(error.to_string(), "get exec: the agent answered 502");
    }

    #[test]
    fn an_answer_that_is_not_json_is_quoted() {
        let page = format!("<!DOCTYPE html>{}", "x".repeat(1000));
        let error = read_json::<u16>(Operation::GetExec, page.as_bytes()).unwrap_err();
        let Error::Protocol { problem, excerpt, .. } = *error else {
            panic!("it is about something else: {error}");
        };
        assert!(problem.contains("<!DOCTYPE html>"), "{problem}");
        assert_eq!(excerpt.chars().count(), 121);
    }
}
