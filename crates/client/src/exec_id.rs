//! The ids of execs, and the paths that they are part of.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sandpipe_protocol::ExecItem;

use crate::{Error, Operation, Result};

/// An exec's id, safe to be put in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecId(String);

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
    pub fn parse(id: String) -> Option<Self> {
        (!matches!(id.as_str(), "" | "." | "..")).then_some(Self(id))
    }

    /// The id of an exec that the agent has just created.
    pub fn of(exec: ExecItem) -> Result<Self> {
        Self::parse(exec.id).ok_or_else(|| {
            Box::new(Error::Protocol {
                operation: Operation::CreateExec,
                problem: "the agent gave the exec no usable id".to_owned(),
                excerpt: String::new(),
            })
        })
    }

    /// The id as the agent gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `/api/v1/execs/{id}`, and what comes after it.
    pub fn path(&self, rest: &str) -> String {
        format!("/api/v1/execs/{}{rest}", self.segment())
    }

    /// `/api/v1/stream/execs/{id}/io`, the events after `last_sequence`.
    pub fn stream_path(&self, last_sequence: i64) -> String {
        format!("/api/v1/stream/execs/{}/io?lastSequence={last_sequence}", self.segment())
    }

    /// `/ws/v1/execs/{id}`, the output after `last_sequence`.
    pub fn socket_path(&self, last_sequence: i64) -> String {
        format!("/ws/v1/execs/{}?lastSequence={last_sequence}", self.segment())
    }

    fn segment(&self) -> impl fmt::Display + '_ {
        utf8_percent_encode(&self.0, SEGMENT)
    }
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
}
