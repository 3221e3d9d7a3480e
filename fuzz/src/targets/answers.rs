//! What else an agent, or a gateway in its place, answers: errors, a created exec, media types.

use sandpipe_client::fuzz::{created_path, is_event_stream, refusal_message};

use crate::{Target, bytes::decision, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "answers",
    check,
    seeds: &[
        br#"4{"code":404,"message":"no exec \"x\""}"#,
        br#"0{"id":"a/../b?c#d","command":"sh","args":[],"status":"RUNNING","pid":7,"pty":false,"exitCode":-1}"#,
        b"9<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>",
        b"1text/event-stream; charset=utf-8",
    ],
    words: &[
        b"\"id\":\"", b"..", b".", b"/", b"%2e", b"?", b"#", b"\"code\":", b"\"message\":", b"text/event-stream", b";",
        b" ", b"charset=utf-8", b"application/json", b"{", b"}", b"\xFF", b"\xE2\x82\xAC",
    ],
};

/// A path has three bytes for each of an id's; an error has its body, too.
const BOUND: Bound = Bound::new(4096, 96);

fn check(input: &[u8]) {
    let (status, body) = decision(input);
    let message = BOUND.hold(body, || refusal_message(u16::from(status) + 400, body));
    assert!(message.contains(&(u16::from(status) + 400).to_string()));

    match BOUND.hold(body, || created_path(body)) {
        Ok(path) => {
            let id = path.strip_prefix("/api/v1/stream/execs/").unwrap();
            let id = id.strip_suffix("/io?lastSequence=0").unwrap();
            assert!(!matches!(id, "" | "." | ".."));
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#\\".contains(&byte)));
        }
        // A beginning is enough to see what it is.
        Err(message) => assert!(message.len() < 2000, "{message}"),
    }

    let text = String::from_utf8_lossy(body);
    if is_event_stream(&text) {
        assert!(text.to_ascii_lowercase().trim().starts_with("text/event-stream"));
    }
}
