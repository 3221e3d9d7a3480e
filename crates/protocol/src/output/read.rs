//! Reading an event of output from its JSON without copying its text.

use super::{EventTime, OutputEvent, OutputType};
use crate::json_string::JsonString;

impl<'a, O> OutputEvent<'a, O> {
    /// Reads an event of the form that agents usually write: only the known fields, each at most once,
    /// in any order. None stands for anything else, which may still be an event: [`json`](crate::json) tells.
    ///
    /// The output is read by `take_output`: it is given JSON that begins with that string, and returns what it has made of it and
    /// what is behind it, or None as [`JsonString::read`] does. The longest part of an event is so looked at only once.
    pub fn read_with(
        json: &'a [u8],
        take_output: &mut dyn FnMut(&'a [u8]) -> Option<(O, &'a [u8])>,
    ) -> Option<Self> {
        let mut rest = Scanner(json.strip_prefix(b"{")?);
        let (mut kind, mut output, mut sequence) = (None, None, None);
        let (mut timestamp, mut exit_code) = (None, None);
        loop {
            rest.skip_spaces();
            // Keys have no escapes.
            match rest.key()? {
                b"type" if kind.is_none() => {
                    kind = Some(match rest.string()?.escaped() {
                        b"stdout" => OutputType::Stdout,
                        b"stderr" => OutputType::Stderr,
                        _ => return None,
                    });
                }
                b"output" if output.is_none() => output = Some(rest.string_with(take_output)?),
                b"sequence" if sequence.is_none() => sequence = Some(rest.integer()?.parse().ok()?),
                b"timestamp" if timestamp.is_none() => timestamp = Some(rest.string()?.plain()?),
                b"exitCode" if exit_code.is_none() => {
                    exit_code = Some(rest.integer()?.parse().ok()?);
                }
                _ => return None,
            }
            rest.skip_spaces();
            if rest.take(b"}") {
                break;
            }
            if !rest.take(b",") {
                return None;
            }
        }
        rest.0.is_empty().then_some(())?;
        let time = timestamp.map(EventTime::Text);
        Some(Self { kind: kind?, output: output?, sequence: sequence?, time, exit_code })
    }
}

/// What is still to be read.
struct Scanner<'a>(&'a [u8]);

impl<'a> Scanner<'a> {
    fn take(&mut self, token: &[u8]) -> bool {
        let after = self.0.strip_prefix(token);
        self.0 = after.unwrap_or(self.0);
        after.is_some()
    }

    fn skip_spaces(&mut self) {
        while self.take(b" ") {}
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Option<&'a [u8]> {
        let after = self.0.strip_prefix(b"\"")?;
        // It is too short for a search in blocks.
        let end = after.iter().position(|byte| *byte == b'"')?;
        let (key, rest) = after.split_at_checked(end)?;
        self.0 = rest.strip_prefix(b"\"")?;
        self.skip_spaces();
        self.take(b":").then_some(())?;
        self.skip_spaces();
        Some(key)
    }

    fn string(&mut self) -> Option<JsonString<'a>> {
        self.string_with(&mut JsonString::read)
    }

    fn string_with<O>(
        &mut self,
        take: &mut dyn FnMut(&'a [u8]) -> Option<(O, &'a [u8])>,
    ) -> Option<O> {
        let (string, rest) = take(self.0)?;
        self.0 = rest;
        Some(string)
    }

    /// A whole number (RFC 8259, section 6): no leading zeros, and no "-0".
    fn integer(&mut self) -> Option<&'a str> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
        let end = self.0.iter().position(|byte| !is_part(byte))?;
        let (number, rest) = self.0.split_at_checked(end)?;
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        if digits.len() > 1 && digits.starts_with(b"0") || number == b"-0" {
            return None;
        }
        self.0 = rest;
        std::str::from_utf8(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ExecStdout;

    fn read(json: &[u8]) -> Option<ExecStdout> {
        let event = OutputEvent::read_with(json, &mut JsonString::read)?;
        Some(event.map_output(String::from).into())
    }

    /// What the slow way reads, if it reads the same fields and no others.
    fn slowly(json: &[u8]) -> Option<ExecStdout> {
        serde_json::from_str(&String::from_utf8_lossy(json)).ok()
    }

    fn event() -> impl Strategy<Value = ExecStdout> {
        let text = prop_oneof![any::<String>(), "[\\PC\\x00-\\x1f\"\\\\é€😀\u{1b}\\[0-9m ]{0,80}"];
        let kind = prop::sample::select(vec![OutputType::Stdout, OutputType::Stderr]);
        let timestamp = prop::option::of("[0-9T:.Z-]{0,30}");
        (kind, text, any::<u64>(), timestamp, prop::option::of(any::<i32>())).prop_map(
            |(kind, output, sequence, timestamp, exit_code)| ExecStdout {
                kind,
                output,
                sequence,
                timestamp,
                exit_code,
            },
        )
    }

    #[test]
    fn what_an_agent_writes_is_read() {
        let json = br#"{"type":"stderr","output":"a\n\u001b[31m\u00e9\"","sequence":7,"timestamp":"t","exitCode":-1}"#;
        let event = read(json).unwrap();
        assert_eq!(event, slowly(json).unwrap());
        assert_eq!(event.output, "a\n\u{1b}[31mé\"");
    }

    #[test]
    fn spaces_and_another_order_are_read() {
        let json = br#"{ "sequence": 1 , "output": "x", "type": "stdout" }"#;
        assert_eq!(read(json), slowly(json));
    }

    #[test]
    fn what_is_not_usual_is_left_to_the_slow_way() {
        for json in [
            r#"{"type":"stdout","output":"x","sequence":1,"more":{}}"#,
            r#"{"type":"stdout","output":"x","sequence":1,"sequence":2}"#,
            r#"{"type":"stdout","output":"x","sequence":01}"#,
            r#"{"type":"stdout","output":"x","sequence":1.0}"#,
            r#"{"type":"stdout","output":"x","sequence":1,"exitCode":-0}"#,
            r#"{"type":"stdout","output":"x","sequence":1}}"#,
            r#"{"type":"stdout","output":"\ud83d\ude00","sequence":1}"#,
            r#"{"type":"stdout","output":"\x","sequence":1}"#,
            r#"{"type":"stdout","output":"x"}"#,
            r#"{"type":"stdout","output":"x","sequence":1,"timestamp":null}"#,
            "{\"type\":\"stdout\",\"output\":\"\n\",\"sequence\":1}",
            "",
            "{}",
            "[]",
        ] {
            assert_eq!(read(json.as_bytes()), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn it_reads_what_serde_writes_and_reads_the_same(event in event()) {
            let json = serde_json::to_vec(&event).unwrap();
            prop_assert_eq!(read(&json), Some(event));
        }
    }
}
