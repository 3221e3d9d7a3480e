//! Looking for a text in an output that comes piece by piece: a state machine without I/O.

use std::rc::Rc;

use sandpipe_protocol::OutputType;

use super::last_output::{LastOutput, end_of};
use crate::{HostValue, Result};

/// How much of each stream is kept to look for a regular expression in, in bytes of UTF-8: what it finds can't be longer.
const MAX_WINDOW_BYTES: usize = 64 * 1024;

/// What is looked for.
#[derive(Clone)]
pub enum Pattern {
    /// This text, which is not empty.
    Text(Rc<str>),
    /// What a regular expression of the host's finds.
    Expression(Rc<dyn TextMatcher>),
}

/// A regular expression of the host's.
pub trait TextMatcher {
    /// The first that it finds in `text`, of what begins at byte `from` or later.
    fn find(&self, text: &str, from: usize) -> Result<Option<Match>>;

    /// The expression, for messages.
    fn source(&self) -> String;
}

/// A text that was found.
#[derive(Clone, Debug)]
pub enum MatchValue {
    /// The one that was looked for.
    Text(Rc<str>),
    /// What an expression has found, as the host has it.
    Expression(HostValue),
}

/// What an expression has found.
pub struct Match {
    /// As the host has it.
    pub value: HostValue,
    /// Where it ends, in bytes.
    pub end: usize,
}

impl Pattern {
    /// The pattern in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Expression(expression) => expression.source(),
        }
    }
}

/// Looks for a pattern in both streams of an output, in each by itself, however it is cut into pieces.
pub(crate) struct OutputSearch {
    pattern: Pattern,
    stdout: Window,
    stderr: Window,
    /// The last part of both.
    pub(crate) last_output: LastOutput,
}

/// The newest part of a stream.
#[derive(Default)]
struct Window {
    text: String,
    /// Where the pattern may begin. What comes before is there for `^` and `\b`, which look at the character before them.
    from: usize,
    /// There is text that was not looked at.
    is_new: bool,
}

/// What was found.
pub(crate) struct FoundText {
    /// In which stream.
    pub(crate) stream: OutputType,
    pub(crate) value: MatchValue,
    /// How many bytes of the stream have come behind it.
    pub(crate) bytes_behind: usize,
    /// More text can't make it longer.
    pub(crate) is_final: bool,
}

impl OutputSearch {
    /// Nothing has come yet.
    pub(crate) fn new(pattern: Pattern) -> Self {
        let (stdout, stderr, last_output) = Default::default();
        Self { pattern, stdout, stderr, last_output }
    }

    /// Takes the next text of a stream.
    pub(crate) fn push(&mut self, stream: OutputType, text: &str) {
        let window = match stream {
            OutputType::Stdout => &mut self.stdout,
            OutputType::Stderr => &mut self.stderr,
        };
        window.text.push_str(text);
        window.is_new |= !text.is_empty();
        self.last_output.push(text);
    }

    /// Looks at what has come since the last time.
    pub(crate) fn find(&mut self) -> Result<Option<FoundText>> {
        for (stream, window) in
            [(OutputType::Stdout, &mut self.stdout), (OutputType::Stderr, &mut self.stderr)]
        {
            if !std::mem::take(&mut window.is_new) {
                continue;
            }
            if let Some(found) = window.find(stream, &self.pattern)? {
                return Ok(Some(found));
            }
            window.forget(&self.pattern);
        }
        Ok(None)
    }
}

impl Window {
    fn find(&self, stream: OutputType, pattern: &Pattern) -> Result<Option<FoundText>> {
        let found = match pattern {
            Pattern::Text(text) => {
                let end = self.text.find(&**text).map(|start| start + text.len());
                end.map(|end| (MatchValue::Text(text.clone()), end, true))
            }
            Pattern::Expression(expression) => {
                let found = expression.find(&self.text, self.from)?;
                found.map(|Match { value, end }| {
                    // What is longer than this is not waited for.
                    let is_final = end < self.text.len() || self.text.len() > 2 * MAX_WINDOW_BYTES;
                    (MatchValue::Expression(value), end, is_final)
                })
            }
        };
        Ok(found.map(|(value, end, is_final)| FoundText {
            stream,
            value,
            bytes_behind: self.text.len().saturating_sub(end),
            is_final,
        }))
    }

    /// Lets go of what the pattern can't begin in any more.
    fn forget(&mut self, pattern: &Pattern) {
        let kept = match pattern {
            Pattern::Text(text) => text.len() - 1,
            Pattern::Expression(_) => MAX_WINDOW_BYTES,
        };
        let kept = end_of(&self.text, kept);
        if kept.len() == self.text.len() {
            return;
        }
        let start = self.text.len() - kept.len();
        let before = self.text.get(..start).and_then(|before| before.chars().next_back());
        self.from = before.map_or(0, char::len_utf8);
        self.text.drain(..start - self.from);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn search(pattern: &str) -> OutputSearch {
        OutputSearch::new(Pattern::Text(pattern.into()))
    }

    proptest! {
        #[test]
        fn a_text_is_found_however_it_is_cut_and_where_str_finds_it(
            pieces in prop::collection::vec("[abé]{0,4}", 0..12),
            pattern in "[abé]{1,5}",
        ) {
            let mut search = search(&pattern);
            let mut all = String::new();
            for piece in pieces {
                all += &piece;
                search.push(OutputType::Stdout, &piece);
                let found = search.find().unwrap();
                let end = all.find(&pattern).map(|start| start + pattern.len());
                prop_assert_eq!(found.as_ref().map(|found| all.len() - found.bytes_behind), end);
                if found.is_some() {
                    break;
                }
            }
        }
    }

    #[test]
    fn each_stream_is_looked_through_by_itself() {
        let mut search = search("ready");
        search.push(OutputType::Stdout, "rea");
        search.push(OutputType::Stderr, "dy");
        assert!(search.find().unwrap().is_none());
        search.push(OutputType::Stdout, "dy!");
        let found = search.find().unwrap().unwrap();
        assert_eq!((found.stream, found.bytes_behind), (OutputType::Stdout, 1));
    }

    /// Finds `line` at the beginning of a line, as `/^line/m` does.
    struct LineStart;

    impl TextMatcher for LineStart {
        fn find(&self, text: &str, from: usize) -> Result<Option<Match>> {
            let starts = (from..text.len())
                .filter(|at| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'));
            let mut found = starts.filter(|at| text.as_bytes()[*at..].starts_with(b"line"));
            let value = HostValue::new(());
            Ok(found.next().map(|at| Match { value, end: at + "line".len() }))
        }

        fn source(&self) -> String {
            "/^line/m".to_owned()
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_does_not_look_like_a_beginning() {
        let mut search = OutputSearch::new(Pattern::Expression(Rc::new(LineStart)));
        search.push(OutputType::Stdout, &"x".repeat(3));
        // The window begins in the middle of a line, with what is looked for.
        search.push(OutputType::Stdout, "line");
        search.push(OutputType::Stdout, &"é".repeat(MAX_WINDOW_BYTES / 2 - 2));
        assert!(search.find().unwrap().is_none());
        assert!(search.stdout.text.starts_with("xline"), "{}", search.stdout.from);
        for _ in 0..100 {
            search.push(OutputType::Stdout, &"long ".repeat(1000));
            assert!(search.find().unwrap().is_none());
            assert!(search.stdout.text.len() <= MAX_WINDOW_BYTES + 4);
        }
        search.push(OutputType::Stdout, "\nline");
        let found = search.find().unwrap().unwrap();
        // More text could make it longer.
        assert!(!found.is_final && found.bytes_behind == 0);
    }
}
