use std::{fmt::Display, io::Write};

use super::OutputType;
use crate::json_string::escape;

/// Appends the JSON of an [`ExecStdout`](super::ExecStdout) without an exit code, as `serde_json` writes it:
/// most of what an agent sends is text, which is gone through once here and copied once.
pub fn write_output(
    json: &mut Vec<u8>,
    kind: OutputType,
    output: &str,
    sequence: u64,
    timestamp: impl Display,
) {
    let kind = match kind {
        OutputType::Stdout => "stdout",
        OutputType::Stderr => "stderr",
    };
    // Writing to memory does not fail.
    let _ok = write!(json, r#"{{"type":"{kind}","output":""#);
    escape(json, output);
    let _ok = write!(json, r#"","sequence":{sequence},"timestamp":"{timestamp}"}}"#);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ExecStdout;

    fn check(kind: OutputType, output: &str, sequence: u64) {
        let timestamp = "2026-01-31T12:34:56.789Z";
        let mut json = b"before".to_vec();
        write_output(&mut json, kind, output, sequence, timestamp);
        let event = ExecStdout {
            kind,
            output: output.into(),
            sequence,
            timestamp: Some(timestamp.into()),
            exit_code: None,
        };
        let expected = format!("before{}", serde_json::to_string(&event).unwrap());
        assert_eq!(String::from_utf8(json).unwrap(), expected);
    }

    #[test]
    fn every_character_of_ascii_is_written_as_serde_does_it() {
        let all: String = (0..=0x7F).map(char::from).collect();
        check(OutputType::Stdout, &all, 1);
        // At every place of a block.
        for place in 0..40 {
            for special in all.chars() {
                let text = format!("{}{special}\u{1F600}", "x".repeat(place));
                check(OutputType::Stderr, &text, u64::MAX);
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_does_it(text: String, sequence: u64) {
            check(OutputType::Stdout, &text, sequence);
        }
    }
}
