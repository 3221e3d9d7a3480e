//! What the bytes of an exec's output mean: a state machine without I/O.

use std::mem;

use sandpipe_protocol::frame::{Frame, Payload};
use sandpipe_protocol::json;
use sandpipe_protocol::{
    Characters, EventTime, ExecStdout, Gap, OutputEvent, OutputType, Timestamp,
};
use sandpipe_text::Text;

use super::{Decoder, Event, EventOutput, Message, OutputFault, OutputSink, event_of};

/// Follows the output of one exec from a sequence number to its exit code: lets each event through once, in order.
///
/// Connections may differ in the form in which they have the events: each event has the same number in all of them.
pub(crate) struct Follower {
    /// The `lastSequence` that was asked for.
    requested: i64,
    /// The sequence number of the next event; None where any may come first.
    next: Option<u64>,
    /// The characters of each stream, which frames cut.
    stdout: Characters,
    stderr: Characters,
    /// The text of an event that came as JSON; its memory serves the next one.
    text: Text,
    /// How many events it has let through.
    pub(crate) delivered: u64,
    pub(crate) exit_code: Option<i32>,
}

impl Follower {
    /// Follows the events after `last_sequence`; a negative number stands for the place that many
    /// events before the newest one.
    pub(crate) fn after(last_sequence: i64) -> Self {
        let next = u64::try_from(last_sequence).ok().map(|last| last + 1);
        let (stdout, stderr, text) = Default::default();
        Self { requested: last_sequence, next, stdout, stderr, text, delivered: 0, exit_code: None }
    }

    /// Takes the next bytes of a connection, by its decoder, and gives each event that they complete to `sink`, if it has
    /// not come before.
    ///
    /// What comes after the exit code is not looked at: the stream ends there.
    pub(crate) fn feed(
        &mut self,
        decoder: &mut Decoder,
        chunk: &[u8],
        sink: &mut dyn OutputSink,
    ) -> Result<(), OutputFault> {
        let mut verdict = Ok(());
        let fed = decoder.feed(chunk, &mut |message| {
            if verdict.is_ok() && self.exit_code.is_none() {
                verdict = match message {
                    Message::Event(json) => self.accept_json(json, sink),
                    Message::Frame(frame) => self.accept_frame(&frame, sink),
                    Message::Gap(json) => Err(read_gap(json)),
                    // An extension that was not asked for, or was read before.
                    Message::Exec(_) => Ok(()),
                };
            }
        });
        verdict?;
        if self.exit_code.is_some() { Ok(()) } else { fed }
    }

    /// The `lastSequence` that gives the events that have not come yet.
    pub(crate) fn last_sequence(&self) -> i64 {
        let last = self.next.and_then(|next| i64::try_from(next).ok()).map(|next| next - 1);
        last.unwrap_or(self.requested)
    }

    /// Nothing more comes of an output that is known to be whole. An agent that tells the exit code elsewhere has no event for
    /// it: this gives one.
    pub(crate) fn conclude(&mut self, exit_code: i32) -> Option<ExecStdout> {
        if self.exit_code.replace(exit_code).is_some() {
            return None;
        }
        Some(ExecStdout {
            kind: OutputType::Stdout,
            output: String::new(),
            sequence: self.next.unwrap_or(1),
            timestamp: None,
            exit_code: Some(exit_code),
        })
    }

    fn accept_json(&mut self, json: &[u8], sink: &mut dyn OutputSink) -> Result<(), OutputFault> {
        let mut text = mem::take(&mut self.text);
        text.clear();
        let read = OutputEvent::read_with(json, &mut |json| Some(((), text.push_string(json)?)));
        let accepted = match read {
            Some(event) => self.accept(&event.map_output(|()| EventOutput::Text(&text)), sink),
            None => read_event(&String::from_utf8_lossy(json))
                .and_then(|event| self.accept(&event_of(&event), sink)),
        };
        self.text = text;
        accepted
    }

    /// Gives an event to `sink`, if it has not come before. Its text is whole: no character goes on behind it.
    pub(crate) fn accept(
        &mut self,
        event: &Event<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<(), OutputFault> {
        if self.is_next(event.sequence)? {
            *self.characters(event.kind) = Characters::default();
            sink.take(event);
            self.exit_code = event.exit_code.or(self.exit_code);
        }
        Ok(())
    }

    fn accept_frame(
        &mut self,
        frame: &Frame<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<(), OutputFault> {
        let Frame { sequence, time, payload } = *frame;
        let time = Some(EventTime::Micros(Timestamp(time)));
        match payload {
            // It belongs to the event that follows: if that has come before, so has this.
            Payload::Unfinished(kind, bytes) => {
                if self.next.is_none_or(|next| sequence == next) {
                    self.characters(kind).resume(bytes);
                }
            }
            Payload::Output(kind, bytes) => {
                if self.is_next(sequence)? {
                    let text = self.characters(kind).next(bytes);
                    let output = EventOutput::Bytes { bytes, text };
                    sink.take(&Event { kind, output, sequence, time, exit_code: None });
                }
            }
            Payload::Exit(exit_code) => {
                if self.is_next(sequence)? {
                    let output = EventOutput::from("");
                    let (kind, exit_code) = (OutputType::Stdout, Some(exit_code));
                    sink.take(&Event { kind, output, sequence, time, exit_code });
                    self.exit_code = exit_code;
                }
            }
            Payload::Gap(gap) => return Err(gap.into()),
            Payload::Ping | Payload::Exec(_) | Payload::Unknown => {}
        }
        Ok(())
    }

    fn characters(&mut self, kind: OutputType) -> &mut Characters {
        match kind {
            OutputType::Stdout => &mut self.stdout,
            OutputType::Stderr => &mut self.stderr,
        }
    }

    /// Whether an event has not come before.
    fn is_next(&mut self, sequence: u64) -> Result<bool, OutputFault> {
        // Some agents count from 0.
        let counts_from_zero = self.delivered == 0 && sequence == 0 && self.next == Some(1);
        if let Some(next) = self.next {
            if sequence > next {
                return Err(OutputFault::Lost { from: next, to: sequence - 1 });
            }
            if sequence < next && !counts_from_zero {
                return Ok(false);
            }
        }
        self.delivered += 1;
        self.next = Some(sequence.saturating_add(1));
        Ok(true)
    }
}

/// What the data of a `gap` event stands for.
fn read_gap(json: &[u8]) -> OutputFault {
    match json::read::<Gap>(json) {
        Ok(gap) => gap.into(),
        Err(problem) => {
            OutputFault::protocol(&format!("a gap is not what it should be: {problem}"), json)
        }
    }
}

fn read_event(json: &str) -> Result<ExecStdout, OutputFault> {
    json::read(json.as_bytes()).map_err(|problem| {
        let problem = format!("an event of the output is not what it should be: {problem}");
        OutputFault::protocol(&problem, json.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Discard;

    fn event(sequence: u64, exit_code: Option<i32>) -> ExecStdout {
        let (kind, output) = (OutputType::Stdout, "a".to_owned());
        ExecStdout { kind, output, sequence, timestamp: None, exit_code }
    }

    #[test]
    fn an_agent_may_count_from_zero() {
        let written = [event(0, None), event(1, Some(0))];
        let (mut follower, mut events) = (Follower::after(0), Vec::new());
        for event in &written {
            assert_eq!(follower.accept(&event_of(event), &mut events), Ok(()));
        }
        assert_eq!((events.as_slice(), follower.exit_code), (&written[..], Some(0)));
    }

    #[test]
    fn an_output_that_has_the_largest_number_is_concluded() {
        let mut follower = Follower::after(-1);
        let accepted = follower.accept(&event_of(&event(u64::MAX, None)), &mut Discard);
        assert_eq!(accepted, Ok(()));
        let last = follower.conclude(3).unwrap();
        assert_eq!((last.sequence, last.exit_code), (u64::MAX, Some(3)));
    }
}
