use std::{borrow::Cow, mem};

use sandpipe_protocol::{
    Characters, ExecStdout, OutputType, Timestamp,
    frame::{Frame, Payload},
    write_output,
};

/// An event with the text of its frame: whole characters, with U+FFFD for what is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextEvent<'a> {
    pub(crate) kind: OutputType,
    pub(crate) text: Cow<'a, str>,
    pub(crate) sequence: u64,
    pub(crate) time: Timestamp,
    /// Only the last event has it.
    pub(crate) exit_code: Option<i32>,
}

/// Makes text of frames.
#[derive(Debug, Default)]
pub(super) struct FrameText {
    /// The beginning of a character that the next frame goes on with. The spool has it before that frame, so nothing of earlier
    /// frames is remembered.
    characters: Characters,
}

impl FrameText {
    /// Takes the next frame; `None` where it is no event by itself.
    pub(super) fn take<'a>(&mut self, frame: Frame<'a>) -> Option<TextEvent<'a>> {
        let (kind, text, exit_code) = match frame.payload {
            Payload::Output(kind, bytes) => {
                let part = mem::take(&mut self.characters).next(bytes);
                let text = match str::from_utf8(part.rest) {
                    // The quick way, of almost all.
                    Ok(text) if part.start().is_empty() => text.into(),
                    _ => part.to_text().into(),
                };
                (kind, text, None)
            }
            Payload::Exit(exit_code) => (OutputType::Stdout, Cow::default(), Some(exit_code)),
            Payload::Unfinished(_, bytes) => {
                self.characters.resume(bytes);
                return None;
            }
            Payload::Gap(_) | Payload::Ping | Payload::Exec(_) | Payload::Unknown => return None,
        };
        let time = Timestamp(frame.time);
        Some(TextEvent { kind, text, sequence: frame.sequence, time, exit_code })
    }
}

impl TextEvent<'_> {
    /// Appends the JSON of it, an [`ExecStdout`].
    pub(crate) fn write_json(&self, json: &mut Vec<u8>) {
        let Self { kind, text, sequence, time, exit_code } = self;
        if exit_code.is_none() {
            write_output(json, *kind, text, *sequence, time);
            return;
        }
        let event = ExecStdout {
            kind: *kind,
            output: text.clone().into_owned(),
            sequence: *sequence,
            timestamp: Some(time.to_string()),
            exit_code: *exit_code,
        };
        // Strings and numbers can always be written as JSON.
        json.extend(serde_json::to_vec(&event).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(frame_text: &mut FrameText, sequence: u64, payload: Payload<'_>) -> Option<String> {
        let event = frame_text.take(Frame { sequence, time: 1_999, payload })?;
        let mut json = Vec::new();
        event.write_json(&mut json);
        Some(String::from_utf8(json).unwrap())
    }

    #[test]
    fn an_event_has_the_json_of_the_interface() {
        let mut text = FrameText::default();
        let output = Payload::Output(OutputType::Stderr, b"a\r\n\0\"\xE2\x82\xAC");
        let expected = "{\"type\":\"stderr\",\"output\":\"a\\r\\n\\u0000\\\"€\",\"sequence\":7,\
                        \"timestamp\":\"1970-01-01T00:00:00.001Z\"}";
        assert_eq!(json(&mut text, 7, output).as_deref(), Some(expected));
        let expected = "{\"type\":\"stdout\",\"output\":\"\",\"sequence\":8,\
                        \"timestamp\":\"1970-01-01T00:00:00.001Z\",\"exitCode\":3}";
        assert_eq!(json(&mut text, 8, Payload::Exit(3)).as_deref(), Some(expected));
    }

    #[test]
    fn a_character_goes_on_only_from_the_frame_before() {
        let mut text = FrameText::default();
        let mut take = |payload| text.take(Frame { sequence: 1, time: 0, payload });
        let mut output =
            |bytes| take(Payload::Output(OutputType::Stdout, bytes)).unwrap().text.into_owned();
        assert_eq!(output(b"a\xE2\x82"), "a");
        // As after a gap.
        assert_eq!(output(b"b"), "b");
        assert_eq!(take(Payload::Unfinished(OutputType::Stdout, b"\xE2\x82")), None);
        let mut output =
            |bytes| take(Payload::Output(OutputType::Stdout, bytes)).unwrap().text.into_owned();
        assert_eq!(output(b"\xACc"), "\u{20AC}c");
        assert_eq!(take(Payload::Unfinished(OutputType::Stderr, b"\xE2\x82")), None);
        let mut output =
            |bytes| take(Payload::Output(OutputType::Stderr, bytes)).unwrap().text.into_owned();
        assert_eq!(output(b""), "\u{FFFD}");
    }
}
