//! The frames that an agent sends over a WebSocket, against `serde_json`.

use sandpipe_client::fuzz::{AgentSays, read_frame};
use sandpipe_protocol::websocket::AgentFrame;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "agent-frame",
    check,
    seeds: &[
        br#"{"type":"output","data":{"output":"a","stream":"stdout","sequence":1,"timestamp":"t"}}"#,
        br#"{"type":"error","data":{"error":"no","id":7,"code":409}}"#,
        br#"{"type":"done","data":{"id":7}}"#,
        br#"{"type":"exit","data":{"exitCode":0,"sequence":2}}"#,
    ],
    words: &[
        b"{", b"}", b",", b"\"", b"\"type\":", b"\"data\":{", b"\"output\"", b"\"error\"", b"\"done\"", b"\"exit\"",
        b"\"id\":", b"\"code\":", b"\"sequence\":", b"\"exitCode\":", b"\"stream\":\"stderr\"", b"null", b"\\ud83d\\ude00",
    ],
};

const BOUND: Bound = Bound::new(4096, 96);

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let says = BOUND.hold(text.as_bytes(), || read_frame(&text));
    let theirs: Option<AgentFrame> = serde_json::from_str(&text).ok();
    // That is no whole number for `serde_json`.
    if theirs.is_none() && text.contains("-0") {
        return;
    }
    match says {
        AgentSays::Event(event) => {
            let (number, code) = match theirs.unwrap() {
                AgentFrame::Output { sequence, output, .. } => {
                    assert_eq!(output, event.output);
                    (sequence, None)
                }
                AgentFrame::Exit { sequence, exit_code, .. } => (sequence, Some(exit_code)),
                other => panic!("it is {other:?}"),
            };
            assert_eq!((Some(event.sequence), event.exit_code), (number, code));
        }
        AgentSays::Answer(id, Ok(())) => assert_eq!(theirs, Some(AgentFrame::Done { id })),
        AgentSays::Answer(id, Err(message)) => match theirs {
            Some(AgentFrame::Error { error, id: number, .. }) => {
                assert_eq!(number, Some(id));
                assert!(message.contains(&error));
            }
            other => panic!("it is {other:?}"),
        },
        AgentSays::Remark => assert!(matches!(theirs, Some(AgentFrame::Error { id: None, .. }))),
        AgentSays::Unreadable => {}
    }
}
