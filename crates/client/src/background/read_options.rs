//! What of the output of a process is to be read.

use std::rc::Rc;

use super::lines::choose_lines;
use super::script::{Script, sh};

/// How much is read at once unless the caller says, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;
/// The longest character in UTF-8, in bytes: with less there would be no way past it.
pub const MAX_CHARACTER_BYTES: u64 = 4;

/// What to read.
pub struct ReadOptions {
    /// Which of its two streams is read.
    pub stream: Stream,
    /// Where in the stream reading begins.
    pub start: Start,
    /// The most that is read, in bytes.
    pub max_bytes: u64,
    /// Which lines are wanted, if not all that there is.
    pub filter: Option<Filter>,
    /// How long to wait for output, in milliseconds.
    pub wait_ms: f64,
}

/// Streams of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Both, the one after the other.
    Both,
}

/// Where a read begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// So many bytes after the beginning.
    Offset(u64),
    /// So many bytes before the end.
    Tail(u64),
}

/// Says whether a line matches.
pub type LineMatcher = Rc<dyn Fn(&str) -> bool>;

/// Which lines are wanted.
#[derive(Clone)]
pub struct Filter {
    /// Whether a line, without its end, matches.
    pub is_match: LineMatcher,
    /// Whether the lines that match are left out, and not the others.
    pub exclude: bool,
}

impl Filter {
    /// One that is not asked.
    #[cfg(test)]
    pub(super) fn of_nothing() -> Self {
        Self { is_match: Rc::new(|_| false), exclude: false }
    }

    /// The lines that are wanted, of pieces of streams.
    pub(super) fn apply(&self, pieces: &[(&str, &str)]) -> String {
        choose_lines(pieces, |line| (self.is_match)(line) != self.exclude)
    }
}

impl ReadOptions {
    /// The script that reads so, of a process, from a place on, waiting so long at most.
    pub(super) fn script(&self, process: Script, start: Start, wait_ms: u32) -> Script {
        let (offset, tail) = match start {
            Start::Offset(offset) => (offset, String::new()),
            Start::Tail(bytes) => (0, bytes.to_string()),
        };
        process
            .word("stream", self.stream.name())
            .word("offset", &offset.to_string())
            .word("tail", &tail)
            .word("max", &self.max_bytes.to_string())
            .word("by_line", if self.filter.is_some() { "1" } else { "" })
            .word("wait", &wait_ms.to_string())
            .part(sh!("pause"))
            .part(sh!("reader"))
            .part(sh!("read_output"))
    }

    /// The stdout of a process from a place on, and nothing more than that.
    pub(super) fn stdout_from(offset: u64, max_bytes: u64) -> Self {
        Self {
            stream: Stream::Stdout,
            start: Start::Offset(offset),
            max_bytes: max_bytes.clamp(MAX_CHARACTER_BYTES, MAX_BYTES),
            filter: None,
            wait_ms: 0.0,
        }
    }
}

impl Stream {
    fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Both => "both",
        }
    }
}
