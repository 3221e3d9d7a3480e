//! The record of an exec on disk, as an agent finds it that starts after another one died.

use sandpipe_agent::fuzz::read_record;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "record",
    check,
    seeds: &[
        br#"{"number":1,"item":{"id":"x1","command":"true","args":["a"],"status":"EXITED","pid":7,"pty":false,"exitCode":0,"user":"1:1"},"lastEvent":{"type":"stdout","output":"","sequence":2,"timestamp":"t","exitCode":0}}"#,
        br#"{"number":2,"item":{"id":"x2","command":"sh","args":[],"status":"RUNNING","pid":7,"pty":true,"exitCode":-1},"creation":{"key":"k","request":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]}}"#,
    ],
    words: &[
        b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\"number\":", b"\"item\":{", b"\"id\":\"", b"\"args\":[", b"\"status\":\"",
        b"\"creation\":", b"\"lastEvent\":{", b"\"sequence\":", b"null", b"255", b"256", b"\\ud800", b"[[[[[[[[", b"\xFF",
    ],
};

const BOUND: Bound = Bound::new(4096, 64);

fn check(input: &[u8]) {
    if let Some(written) = BOUND.hold(input, || read_record(input)) {
        assert_eq!(read_record(&written).unwrap(), written);
    }
}
