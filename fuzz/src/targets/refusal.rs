//! The answers that the agent's HTTP server gives by itself, made into errors like all others.

use sandpipe_agent::fuzz::refusal;
use sandpipe_protocol::ErrorBody;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "refusal",
    check,
    seeds: &[
        b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n",
        b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n",
    ],
    words: &[
        b"HTTP/1.1 ", b"400", b"414", b"431", b"\r\n", b"\r\n\r\n", b"content-length: 0\r\n", b"connection: close\r\n", b"\xFF",
        b"\xE2\x82\xAC", b"+40",
    ],
};

/// A slice of 16 bytes for each line, which has two bytes at least, in two lists that grow.
const BOUND: Bound = Bound::new(2048, 64);

fn check(input: &[u8]) {
    let Some(answer) = BOUND.hold(input, || refusal(input)) else {
        return;
    };
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let (status_line, fields) = head.split_once("\r\n").unwrap();
    let bare = std::str::from_utf8(input).unwrap();
    assert!(bare.starts_with(status_line));
    let length = format!("content-length: {}", body.len());
    assert!(fields.split("\r\n").any(|field| field == length), "{answer}");
    let error: ErrorBody = serde_json::from_str(body).unwrap();
    assert_eq!(status_line.get(9..12).map(str::parse), Some(Ok(error.code)));
}
