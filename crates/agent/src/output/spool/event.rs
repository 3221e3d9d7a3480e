use std::io::{self, BufRead, Read};

use sandpipe_protocol::{
    ExecStdout, OutputType,
    frame::{Frame, HEADER_LEN, Payload, frame_len, split_frame},
};

use crate::output::timestamp;

/// An event as it lies in a spool: a frame of output, and with it the one before that has the beginning of its first character, where
/// that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredEvent {
    pub(super) sequence: u64,
    /// How many bytes it takes.
    pub(super) len: usize,
}

impl StoredEvent {
    /// The first one of these bytes; `None` where there is no whole one.
    pub(super) fn first(bytes: &[u8]) -> Option<Self> {
        let (frame, rest) = split_frame(bytes).ok()??;
        let rest = match frame.payload {
            Payload::Output(..) => rest,
            Payload::Unfinished(beginning_of, _) => match split_frame(rest).ok()?? {
                (Frame { sequence, payload: Payload::Output(kind, _), .. }, rest)
                    if (sequence, kind) == (frame.sequence, beginning_of) =>
                {
                    rest
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Self { sequence: frame.sequence, len: bytes.len() - rest.len() })
    }

    /// Reads the next one of a file, by way of `bytes`; `None` where its end is not there.
    ///
    /// # Errors
    /// Of the kind `InvalidData` where there is something else.
    pub(super) fn read(file: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "there is no event");
        bytes.clear();
        // One frame, or two.
        for _ in 0..2 {
            let start = bytes.len();
            file.take(HEADER_LEN as u64).read_to_end(bytes)?;
            let header = bytes.get(start..).unwrap_or_default();
            let Some(len) = frame_len(header).map_err(|_| invalid())? else {
                return Ok(None);
            };
            file.take((len - HEADER_LEN) as u64).read_to_end(bytes)?;
            if bytes.len() < start + len {
                return Ok(None);
            }
            if let Some(event) = Self::first(bytes) {
                return Ok(Some(event));
            }
            let frame = split_frame(bytes).ok().flatten().map(|(frame, _)| frame.payload);
            if !matches!(frame, Some(Payload::Unfinished(..))) {
                return Err(invalid());
            }
        }
        Err(invalid())
    }
}

/// Some whole events that lie one after the other, up to so many bytes; at least one, if there is one.
pub(super) fn events_within(bytes: &[u8], limit: u64, most: usize) -> Vec<StoredEvent> {
    let mut events = Vec::new();
    let mut len = 0;
    while events.len() < most
        && let Some(event) = bytes.get(len..).and_then(StoredEvent::first)
        && (events.is_empty() || (len + event.len) as u64 <= limit)
    {
        len += event.len;
        events.push(event);
    }
    events
}

/// The event that ends the output, which happens now.
pub(super) fn last(sequence: u64, exit_code: i32) -> ExecStdout {
    ExecStdout {
        kind: OutputType::Stdout,
        output: String::new(),
        sequence,
        timestamp: Some(timestamp::now().to_string()),
        exit_code: Some(exit_code),
    }
}

/// The frame of the event that ends the output; `None` for one without an exit code.
pub(super) fn exit_frame(last: &ExecStdout) -> Option<Vec<u8>> {
    let time = last.timestamp.as_deref().and_then(timestamp::parse).unwrap_or_default();
    let mut frame = Vec::new();
    Frame { sequence: last.sequence, time, payload: Payload::Exit(last.exit_code?) }
        .write(&mut frame);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use sandpipe_protocol::Timestamp;

    use super::*;

    fn frame(sequence: u64, payload: Payload<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        Frame { sequence, time: 0, payload }.write(&mut bytes);
        bytes
    }

    #[test]
    fn a_characters_beginning_is_part_of_the_event_that_has_its_end() {
        let output = frame(7, Payload::Output(OutputType::Stderr, b"\xACx"));
        let beginning = frame(7, Payload::Unfinished(OutputType::Stderr, b"\xE2\x82"));
        let both = [&beginning[..], &output].concat();
        assert_eq!(StoredEvent::first(&both), Some(StoredEvent { sequence: 7, len: both.len() }));
        let mut file = &[&both[..], &output].concat()[..];
        let mut bytes = Vec::new();
        for len in [both.len(), output.len()] {
            let event = StoredEvent::read(&mut file, &mut bytes).unwrap();
            assert_eq!(event, Some(StoredEvent { sequence: 7, len }));
        }
        assert_eq!(StoredEvent::read(&mut file, &mut bytes).unwrap(), None);
        // The beginning of another one.
        for other in [
            frame(8, Payload::Unfinished(OutputType::Stderr, b"\xE2\x82")),
            frame(7, Payload::Unfinished(OutputType::Stdout, b"\xE2\x82")),
            frame(7, Payload::Ping),
        ] {
            let bytes = [&other[..], &output].concat();
            assert_eq!(StoredEvent::first(&bytes), None);
        }
    }

    #[test]
    fn the_last_event_has_the_exit_code() {
        let last = last(8, 3);
        let frame = exit_frame(&last).unwrap();
        let (frame, _) = split_frame(&frame).unwrap().unwrap();
        assert_eq!((frame.sequence, frame.payload), (8, Payload::Exit(3)));
        assert_eq!(last.timestamp, Some(Timestamp(frame.time).to_string()));
    }
}
