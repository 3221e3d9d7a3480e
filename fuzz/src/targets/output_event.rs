//! An event of output as it lies in JSON, against `serde_json`.

use sandpipe_protocol::json_string::JsonString;
use sandpipe_protocol::{ExecStdout, OutputEvent};

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "output-event",
    check,
    seeds: &[
        br#"{"type":"stderr","output":"a\n\u001b[31m\u00e9\"","sequence":7,"timestamp":"2026-01-01T00:00:00.000Z","exitCode":-1}"#,
        br#"{ "sequence": 1 , "output": "x", "type": "stdout" }"#,
    ],
    words: &[
        b"{", b"}", b",", b":", b"\"", b"\\n", b"\\\"", b"\\u00e9", b"\\ud83d\\ude00", b"\"type\":\"stdout\",",
        b"\"output\":\"\",", b"\"sequence\":", b"\"timestamp\":", b"\"exitCode\":", b"null", b" ", b"\xFF", b"\\u0074ype",
    ],
};

/// Nothing of it is copied.
const BOUND: Bound = Bound::new(0, 0);

fn check(input: &[u8]) {
    if let Some(event) = BOUND.hold(input, || OutputEvent::read_with(input, &mut JsonString::read))
    {
        let theirs: Option<ExecStdout> = serde_json::from_str(&String::from_utf8_lossy(input)).ok();
        assert_eq!(Some(ExecStdout::from(event.map_output(String::from))), theirs);
    }
}
