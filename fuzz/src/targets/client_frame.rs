//! The frames that a client sends over a WebSocket: what the agent takes, the client writes in the same way.

use sandpipe_agent::fuzz::frame_id;
use sandpipe_protocol::{json::to_string, websocket::ClientMessage};

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "client-frame",
    check,
    seeds: &[
        br#"{"type":"input","data":{"input":"ls\n"},"id":7}"#,
        br#"{"type":"resize","data":{"cols":80,"rows":24},"id":null}"#,
        br#"{"type":"ping","id":4294967295}"#,
    ],
    words: &[
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"type\":\"input\",",
        b"\"data\":{",
        b"\"input\":\"",
        b"\"cols\":",
        b"\"rows\":",
        b"\"id\":",
        b"\"ping\"",
        b"null",
        b"1.5",
        b"{\"id\":7}",
        b"\\ud83d\\ude00",
        b"\\ud800",
        b"[[[[[[[[",
    ],
};

/// `serde` keeps what it has read until it knows the frame's type: a value takes 32 bytes, two of them
/// where it is a field.
const BOUND: Bound = Bound::new(4096, 128);

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let message: Option<ClientMessage> =
        BOUND.hold(text.as_bytes(), || serde_json::from_str(&text)).ok();
    let id = BOUND.hold(text.as_bytes(), || frame_id(&text));
    let Some(message) = message else {
        return;
    };
    assert!(message.id.is_none() || message.id == id);
    let written = to_string(&message);
    assert_eq!(serde_json::from_str::<ClientMessage>(&written).unwrap(), message);
}
