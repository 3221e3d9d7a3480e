use std::{fmt::Display, time::SystemTime};

use sandpipe_protocol::{ExecStdout, OutputType, sse::encode_event, write_output};
use serde::Deserialize;

/// What is before the JSON of an event, and behind it.
const DATA: &[u8] = b"data: ";
const END: &[u8] = b"\n\n";

/// The event that ends the output, which happens now.
pub(super) fn last(sequence: u64, exit_code: i32) -> ExecStdout {
    ExecStdout {
        kind: OutputType::Stdout,
        output: String::new(),
        sequence,
        timestamp: Some(now().to_string()),
        exit_code: Some(exit_code),
    }
}

fn now() -> impl Display {
    humantime::format_rfc3339_millis(SystemTime::now())
}

/// Appends an event as it goes to the readers: a Server-Sent Event with the JSON of an [`ExecStdout`].
pub(super) fn encode(frame: &mut Vec<u8>, event: &ExecStdout) {
    // Strings and numbers can always be written as JSON.
    let json = serde_json::to_string(event).unwrap_or_default();
    encode_event(frame, "", &json);
}

/// Appends an event of output that comes now, in the same form. Its JSON has no line ends, so it is one
/// line of data.
pub(super) fn encode_output(frame: &mut Vec<u8>, kind: OutputType, text: &str, sequence: u64) {
    frame.extend_from_slice(DATA);
    write_output(frame, kind, text, sequence, now());
    frame.extend_from_slice(END);
}

/// Splits off the first event; `None` where its end is not there. JSON text has no line ends, so an
/// event is one line and an empty one.
pub(in crate::output) fn split_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let line_end = bytes.iter().position(|byte| *byte == b'\n')?;
    bytes.split_at_checked(line_end + 2)
}

/// The JSON of a whole event.
pub(in crate::output) fn strip_frame(frame: &[u8]) -> Option<&[u8]> {
    frame.strip_prefix(DATA)?.strip_suffix(END)
}

/// The number of a whole event.
pub(in crate::output) fn sequence_of(frame: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        sequence: u64,
    }
    let numbered: Numbered = serde_json::from_slice(strip_frame(frame)?).ok()?;
    Some(numbered.sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_can_be_taken_apart_again() {
        let mut frame = Vec::new();
        encode_output(&mut frame, OutputType::Stderr, "a\r\n\0\"\u{2028}", 7);
        assert_eq!(split_frame(&frame), Some((&frame[..], &[][..])));
        assert_eq!(split_frame(&frame[..frame.len() - 1]), None);
        assert_eq!(sequence_of(&frame), Some(7));
        let event: ExecStdout = serde_json::from_slice(strip_frame(&frame).unwrap()).unwrap();
        assert_eq!(event.output, "a\r\n\0\"\u{2028}");
        assert_eq!((event.kind, event.exit_code), (OutputType::Stderr, None));
        let mut again = Vec::new();
        encode(&mut again, &event);
        assert_eq!(again, frame);
        // RFC 3339, UTC, milliseconds.
        let timestamp = event.timestamp.unwrap();
        assert_eq!(timestamp.len(), "2026-01-01T00:00:00.000Z".len());
        assert!(timestamp.ends_with('Z'));
    }

    #[test]
    fn the_last_event_has_the_exit_code() {
        let mut frame = Vec::new();
        encode(&mut frame, &last(8, 3));
        let event: ExecStdout = serde_json::from_slice(strip_frame(&frame).unwrap()).unwrap();
        assert_eq!((event.sequence, event.exit_code), (8, Some(3)));
        assert_eq!((event.kind, event.output.as_str()), (OutputType::Stdout, ""));
    }
}
