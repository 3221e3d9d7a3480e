//! JSON as the client reads it, against `serde_json`.

use std::fmt::Debug;

use sandpipe_protocol::json::{FromJson, Value, read};
use sandpipe_protocol::{ErrorBody, ExecItem, ExecListResponse, ExecStdout, Gap, Health};
use serde::de::DeserializeOwned;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "json",
    check,
    seeds: &[
        br#"{"execs":[{"id":"x","command":"sh","args":["a","b"],"status":"RUNNING","pid":7,"pty":false,"exitCode":-1,"user":"u"}]}"#,
        br#"{"id":"x","command":"sh","args":["a\u00e9\ud83d\ude00"],"status":"EXITED","pid":7,"pty":false,"exitCode":-1}"#,
        br#"{"agent":"sandpipe-agent","version":"1","features":["signal","gap"]}"#,
        br#"{"code":404,"message":"no","from":1,"to":18446744073709551615}"#,
        br#"{"type":"stderr","output":"a\n","sequence":7,"timestamp":"t","exitCode":3}"#,
        b" [ null , true , false , -0.5e+3 , \"\\\"\\\\\\/\\b\\f\\n\\r\\t\" , [[[{}]]] ] ",
    ],
    words: &[
        b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\\\"", b"\\\\", b"\\u00e9", b"\\ud83d\\ude00",
        b"\\ud800", b"\\udc00", b"\\u0000", b"null", b"true", b"false", b"1.5", b"1e999", b"\"id\":\"y\"",
        b"\"pid\":1,", b"\"execs\":[", b"\"exitCode\":", b"\"from\":", b"{\"\":", b"[[[[[[[[", b" ", b"\xC3\xA9",
        b"\xF0\x9F\x98\x80", b"\xFF",
    ],
};

/// A value takes 32 bytes, a field of an object 56, their lists three times that while they grow; the
/// shortest value is a byte and its comma.
const BOUND: Bound = Bound::new(4096, 96);

fn check(input: &[u8]) {
    BOUND.hold(input, || drop(read::<ExecListResponse>(input)));
    let Ok(text) = std::str::from_utf8(input) else {
        assert!(read::<ExecItem>(input).is_err());
        return;
    };
    let value = BOUND.hold(input, || Value::parse(text));
    // Where ours goes further: it says nothing of a number's size, and nests one deeper.
    if !is_deep(input) {
        let ours = value.ok().and_then(|value| plainly(&value));
        let theirs: Option<serde_json::Value> = serde_json::from_str(text).ok();
        assert_eq!(ours, theirs);
    }
    is_read_alike::<ExecItem>(text);
    is_read_alike::<ExecListResponse>(text);
    is_read_alike::<Health>(text);
    is_read_alike::<ErrorBody>(text);
    is_read_alike::<Gap>(text);
    is_read_alike::<ExecStdout>(text);
}

fn is_deep(text: &[u8]) -> bool {
    text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > 100
}

/// What `serde_json` says that it is; None where a number is out of its range.
fn plainly(value: &Value<'_>) -> Option<serde_json::Value> {
    Some(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(bool) => (*bool).into(),
        Value::Number(text) => serde_json::from_str(text).ok()?,
        Value::String(text) => text.to_string().into(),
        Value::Array(items) => items.iter().map(plainly).collect::<Option<Vec<_>>>()?.into(),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| Some((name.to_string(), plainly(value)?)));
            fields.collect::<Option<serde_json::Map<_, _>>>()?.into()
        }
    })
}

/// What ours takes, `serde_json` takes for the same; only -0 is no whole number for it. It takes more: a
/// struct as an array, too.
fn is_read_alike<T: FromJson + DeserializeOwned + PartialEq + Debug>(text: &str) {
    if let Ok(ours) = read::<T>(text.as_bytes()) {
        let theirs = serde_json::from_str::<T>(text).ok();
        if theirs.is_some() || !text.contains("-0") {
            assert_eq!(theirs, Some(ours));
        }
    }
}
