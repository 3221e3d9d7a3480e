//! An event of output as it came, without a copy of its text.

use super::{ExecStdout, OutputType};
use crate::Timestamp;

/// An event of output as it lies in what it came in: JSON ([`OutputEvent::read_with`]), or a frame. `O` is what has been made of
/// its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputEvent<'a, O> {
    /// Where the process wrote it.
    pub kind: OutputType,
    /// What it wrote.
    pub output: O,
    /// 1, 2, 3, … over both streams of the exec.
    pub sequence: u64,
    /// When the agent read it.
    pub time: Option<EventTime<'a>>,
    /// The process's exit code. Only the last piece has it.
    pub exit_code: Option<i32>,
}

/// When an event was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime<'a> {
    /// As text.
    Text(&'a str),
    /// As a frame has it.
    Micros(Timestamp),
}

impl<'a, O> OutputEvent<'a, O> {
    /// The same event with another output.
    pub fn map_output<P>(self, map: impl FnOnce(O) -> P) -> OutputEvent<'a, P> {
        let Self { kind, output, sequence, time, exit_code } = self;
        OutputEvent { kind, output: map(output), sequence, time, exit_code }
    }
}

impl From<EventTime<'_>> for String {
    fn from(time: EventTime<'_>) -> Self {
        match time {
            EventTime::Text(text) => text.to_owned(),
            EventTime::Micros(time) => time.to_string(),
        }
    }
}

impl From<OutputEvent<'_, String>> for ExecStdout {
    fn from(event: OutputEvent<'_, String>) -> Self {
        let OutputEvent { kind, output, sequence, time, exit_code } = event;
        Self { kind, output, sequence, timestamp: time.map(String::from), exit_code }
    }
}

impl<'a> From<&'a ExecStdout> for OutputEvent<'a, &'a str> {
    fn from(event: &'a ExecStdout) -> Self {
        Self {
            kind: event.kind,
            output: &event.output,
            sequence: event.sequence,
            time: event.timestamp.as_deref().map(EventTime::Text),
            exit_code: event.exit_code,
        }
    }
}
