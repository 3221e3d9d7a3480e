//! The bodies of requests to the agent: what it takes, the client writes in the same way.

use std::fmt::Debug;

use sandpipe_agent::fuzz::is_signal;
use sandpipe_protocol::json::{ToJson, to_string};
use sandpipe_protocol::{CreateExecRequest, ExecStart, ExecStdin, SignalRequest, TerminalSize};
use serde::de::DeserializeOwned;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "bodies",
    check,
    seeds: &[
        br#"{"command":"sh","args":["-c","echo \u00e9"],"autostart":true,"interactive":false,"pty":false,"cwd":"/","env":{"A":"b","C":""},"user":"u:g"}"#,
        br#"{"type":"resize","input":"{\"cols\":80,\"rows\":24}"}"#,
        br#"{"type":"stdin","input":"ls\n","signal":"SIGTERM"}"#,
        br#"{"cols":80,"rows":24}"#,
    ],
    words: &[
        b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\"command\":", b"\"args\":[", b"\"env\":{", b"\"\":\"\"", b"\"A\":\"b\",",
        b"\"pty\":true,", b"null", b"\"type\":\"eof\"", b"\"input\":\"", b"\"signal\":\"", b"SIGKILL", b"TERM", b"\\u0000",
        b"\\ud83d\\ude00", b"\\ud800", b"[[[[[[[[", b"\xFF",
    ],
};

/// A string takes 24 bytes, a variable's entry in a map some 100.
const BOUND: Bound = Bound::new(4096, 64);

fn check(input: &[u8]) {
    is_written_alike::<CreateExecRequest>(input);
    is_written_alike::<ExecStdin>(input);
    is_written_alike::<SignalRequest>(input);
    is_written_alike::<ExecStart>(input);
    is_written_alike::<TerminalSize>(input);
    if let Ok(text) = std::str::from_utf8(input)
        && is_signal(text)
    {
        assert!(text.len() < 16);
    }
}

fn is_written_alike<T: ToJson + DeserializeOwned + PartialEq + Debug>(input: &[u8]) {
    if let Ok(taken) = BOUND.hold(input, || serde_json::from_slice::<T>(input)) {
        let written = to_string(&taken);
        assert_eq!(serde_json::from_str::<T>(&written).unwrap(), taken);
    }
}
