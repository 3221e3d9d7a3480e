//! The index of the execs that have ended, as an agent finds it that starts after another one died.

use sandpipe_agent::fuzz::read_index;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "ended-index",
    check,
    seeds: &[
        br#"{"ended":{"record":{"number":1,"item":{"id":"x1","command":"true","args":["a"],"status":"EXITED","pid":7,"pty":false,"exitCode":0,"user":"1:1"},"lastEvent":{"type":"stdout","output":"","sequence":2,"timestamp":"t","exitCode":0}},"at":1,"bytes":18446744073709551615}}
{"removed":{"id":"x2","created":2,"creation":{"key":"k","request":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]}}}
"#,
    ],
    words: &[
        b"{\"ended\":", b"{\"removed\":", b"\n", b"}\n", b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\"number\":", b"\"at\":",
        b"\"bytes\":", b"\"created\":", b"\"creation\":", b"null", b"18446744073709551616", b"\\ud800", b"[[[[[[[[", b"\xFF",
    ],
};

const BOUND: Bound = Bound::new(4096, 64);

fn check(input: &[u8]) {
    let written = BOUND.hold(input, || read_index(input)).expect("memory can be written to");
    assert_eq!(read_index(&written).as_ref(), Some(&written));
}
