//! What the bytes of an exec's output mean: a state machine without I/O.

use std::mem;

use sandpipe_protocol::json::{self, ToJson};
use sandpipe_protocol::sse::Decoder;
use sandpipe_protocol::{ExecStdout, Gap, OutputEvent, OutputType};

use super::OutputSink;
use crate::http::excerpt;
use crate::{Error, ExecId, HostText, Operation};

/// Follows the output of one exec from a sequence number to its exit code: lets each event through once, in order.
pub(crate) struct Follower {
    decoder: Decoder,
    /// The `lastSequence` that was asked for.
    requested: i64,
    /// The sequence number of the next event; None where any may come first.
    next: Option<u64>,
    /// How many events it has let through.
    pub(crate) delivered: u64,
    pub(crate) exit_code: Option<i32>,
}

/// Something in the output that can't be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutputFault {
    Protocol {
        problem: String,
        excerpt: String,
    },
    /// The events from `from` to `to` are missing.
    Lost {
        from: u64,
        to: u64,
    },
}

impl OutputFault {
    pub(crate) fn protocol(problem: &str, quoted: &[u8]) -> Self {
        let excerpt = excerpt(quoted);
        Self::Protocol { problem: format!("{problem}: {excerpt}"), excerpt }
    }

    /// The error that it stands for in the output of exec `id`.
    pub(crate) fn into_error(self, operation: Operation, id: &ExecId) -> Box<Error> {
        match self {
            Self::Protocol { problem, excerpt } => Error::Protocol { operation, problem, excerpt },
            Self::Lost { from, to } => Error::OutputLost {
                exec_id: id.as_str().to_owned(),
                from,
                to,
                output: HostText::default(),
                exit_code: None,
            },
        }
        .into()
    }
}

impl Follower {
    /// Follows the events after `last_sequence`; a negative number stands for the place that many
    /// events before the newest one.
    pub(crate) fn after(last_sequence: i64) -> Self {
        let next = u64::try_from(last_sequence).ok().map(|last| last + 1);
        let decoder = Decoder::default();
        Self { decoder, requested: last_sequence, next, delivered: 0, exit_code: None }
    }

    /// Takes the next bytes and gives each event that they complete to `sink`, if it has not come
    /// before.
    ///
    /// What comes after the exit code is not looked at: the stream ends there.
    pub(crate) fn feed(
        &mut self,
        chunk: &[u8],
        sink: &mut dyn OutputSink,
    ) -> Result<(), OutputFault> {
        let mut decoder = mem::take(&mut self.decoder);
        let mut verdict = Ok(());
        let fed = decoder.feed(chunk, &mut |event| {
            if verdict.is_err() || self.exit_code.is_some() {
                return;
            }
            verdict = match &*event.name {
                // Whose sender means a sign of life by it: it says nothing.
                _ if event.data.is_empty() => Ok(()),
                "" | "message" => self.accept(event.data, sink),
                "gap" => Err(read_gap(event.data)),
                // An extension that was not asked for.
                _ => Ok(()),
            };
        });
        self.decoder = decoder;
        verdict?;
        match fed {
            Err(too_large) if self.exit_code.is_none() => {
                Err(OutputFault::protocol(&too_large.to_string(), &[]))
            }
            _ => Ok(()),
        }
    }

    /// The `lastSequence` that gives the events that have not come yet.
    pub(crate) fn last_sequence(&self) -> i64 {
        let last = self.next.and_then(|next| i64::try_from(next).ok()).map(|next| next - 1);
        last.unwrap_or(self.requested)
    }

    /// The bytes that come next are another connection's: an unfinished event comes again.
    pub(crate) fn disconnected(&mut self) {
        self.decoder = Decoder::default();
    }

    /// Takes the rest of an output that is known to be whole. An agent that tells the exit code
    /// elsewhere has no event for it: this gives one.
    pub(crate) fn conclude(&mut self, rest: &[ExecStdout], exit_code: i32) -> Option<ExecStdout> {
        self.exit_code = Some(exit_code);
        let last = rest.last();
        if last.is_some_and(|event| event.exit_code.is_some()) {
            return None;
        }
        let before = u64::try_from(self.last_sequence()).unwrap_or(0);
        Some(ExecStdout {
            kind: OutputType::Stdout,
            output: String::new(),
            sequence: last.map_or(before, |event| event.sequence).saturating_add(1),
            timestamp: None,
            exit_code: Some(exit_code),
        })
    }

    /// Gives the event that the JSON is to `sink`, if it has not come before.
    pub(crate) fn accept(
        &mut self,
        json: &[u8],
        sink: &mut dyn OutputSink,
    ) -> Result<(), OutputFault> {
        let Some(event) = read_with(json, sink) else {
            return self.accept_event(&read_event(&String::from_utf8_lossy(json))?, sink);
        };
        match self.is_next(event.sequence) {
            Ok(true) => sink.take(event),
            repeated_or_lost => {
                sink.discard();
                return repeated_or_lost.map(drop);
            }
        }
        self.exit_code = event.exit_code.or(self.exit_code);
        Ok(())
    }

    /// The same for one that does not lie in JSON.
    pub(crate) fn accept_event(
        &mut self,
        event: &ExecStdout,
        sink: &mut dyn OutputSink,
    ) -> Result<(), OutputFault> {
        if self.is_next(event.sequence)? {
            write_event(event, sink)?;
            self.exit_code = event.exit_code.or(self.exit_code);
        }
        Ok(())
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

/// Gives an event to `sink` in the form in which all others come.
pub(crate) fn write_event(
    event: &ExecStdout,
    sink: &mut dyn OutputSink,
) -> Result<(), OutputFault> {
    let mut json = Vec::new();
    event.write(&mut json);
    // What is written without anything unusual is read.
    let event = read_with(&json, sink)
        .ok_or_else(|| OutputFault::protocol("an event is unreadable", &json))?;
    sink.take(event);
    Ok(())
}

/// Reads an event of the usual form; `sink` has its output then, and nothing of any other.
fn read_with<'a>(json: &'a [u8], sink: &mut dyn OutputSink) -> Option<OutputEvent<'a>> {
    let event = OutputEvent::read_with(json, &mut |json| sink.read_output(json));
    if event.is_none() {
        sink.discard();
    }
    event
}

/// What the data of a `gap` event stands for.
fn read_gap(json: &[u8]) -> OutputFault {
    match json::read::<Gap>(json) {
        Ok(Gap { from, to }) => OutputFault::Lost { from, to },
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

    fn event(sequence: u64, exit_code: Option<i32>) -> ExecStdout {
        let (kind, output) = (OutputType::Stdout, "a".to_owned());
        ExecStdout { kind, output, sequence, timestamp: None, exit_code }
    }

    #[test]
    fn an_agent_may_count_from_zero() {
        let written = [event(0, None), event(1, Some(0))];
        let (mut follower, mut events) = (Follower::after(0), Vec::new());
        for event in &written {
            assert_eq!(follower.accept_event(event, &mut events), Ok(()));
        }
        assert_eq!((events.as_slice(), follower.exit_code), (&written[..], Some(0)));
    }

    #[test]
    fn an_output_that_has_the_largest_number_is_concluded() {
        let last = Follower::after(0).conclude(&[event(u64::MAX, None)], 3).unwrap();
        assert_eq!((last.sequence, last.exit_code), (u64::MAX, Some(3)));
    }
}
