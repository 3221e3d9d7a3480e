//! What of the output of a process is to be read.

use js_sys::{Object, Reflect, RegExp};
use wasm_bindgen::prelude::*;

use super::lines::choose_lines;
use super::script::{Script, sh};
use crate::arguments::{Fields, boolean, bytes, milliseconds, string, wrong};
use sandpipe_client::error::{Error, Result};

/// How much is read at once unless the caller says, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// The longest character in UTF-8, in bytes: with less there would be no way past it.
const LONGEST_CHARACTER: u64 = 4;

/// What to read.
#[derive(Debug)]
pub(super) struct ReadOptions {
    pub(super) stream: Stream,
    pub(super) start: Start,
    max_bytes: u64,
    pub(super) filter: Option<Filter>,
    pub(super) wait_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Offset(u64),
    /// So many bytes before the end.
    Tail(u64),
}

/// Which lines are wanted.
#[derive(Debug)]
pub(super) struct Filter {
    expression: RegExp,
    /// Whether the lines that match are left out, and not the others.
    exclude: bool,
}

impl Filter {
    /// One that is not asked.
    #[cfg(test)]
    pub(super) fn of_nothing() -> Self {
        Self { expression: JsValue::UNDEFINED.unchecked_into(), exclude: false }
    }

    /// The lines that are wanted, of pieces of streams.
    pub(super) fn apply(&self, pieces: &[(&str, &str)]) -> String {
        choose_lines(pieces, |line| self.expression.test(line) != self.exclude)
    }
}

impl ReadOptions {
    pub(super) fn read(options: &JsValue) -> Result<Self> {
        const NAMES: [&str; 7] =
            ["stream", "offset", "maxBytes", "tailBytes", "filter", "exclude", "waitMs"];
        let fields = Fields::of_optional(options, "options")?;
        fields.only(&NAMES)?;
        let offset = fields.optional("offset", whole_bytes)?;
        let tail = fields.optional("tailBytes", whole_bytes)?;
        let start = match (offset, tail) {
            (Some(_), Some(_)) => {
                return Err(only_one("offset", "tailBytes"));
            }
            (_, Some(tail)) => Start::Tail(tail),
            (offset, None) => Start::Offset(offset.unwrap_or(0)),
        };
        let exclude = fields.optional("exclude", boolean)?;
        let expression = fields.optional("filter", regular_expression)?;
        if exclude == Some(true) && expression.is_none() {
            return Err(Error::InvalidArgument {
                name: "options.exclude".to_owned(),
                expected: "left out where there is no `filter`".to_owned(),
                actual: "true".to_owned(),
            }
            .into());
        }
        Ok(Self {
            stream: fields.optional("stream", stream)?.unwrap_or(Stream::Both),
            start,
            max_bytes: fields.optional("maxBytes", at_least_a_character)?.unwrap_or(MAX_BYTES),
            filter: expression
                .map(|expression| Filter { expression, exclude: exclude == Some(true) }),
            wait_ms: fields.optional("waitMs", milliseconds)?.unwrap_or(0.0),
        })
    }

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
            max_bytes: max_bytes.clamp(LONGEST_CHARACTER, MAX_BYTES),
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

fn only_one(first: &str, second: &str) -> Box<Error> {
    Box::new(Error::InvalidArgument {
        name: format!("options.{second}"),
        expected: format!("left out where there is `{first}`"),
        actual: "given too".to_owned(),
    })
}

fn stream(value: &JsValue, name: &str) -> Result<Stream> {
    match value.as_string().as_deref() {
        Some("stdout") => Ok(Stream::Stdout),
        Some("stderr") => Ok(Stream::Stderr),
        Some("both") => Ok(Stream::Both),
        _ => Err(wrong(name, "\"stdout\", \"stderr\" or \"both\"", value)),
    }
}

/// A number of bytes that a shell can count with.
fn whole_bytes(value: &JsValue, name: &str) -> Result<u64> {
    if js_sys::Number::is_safe_integer(value) {
        return bytes(value, name);
    }
    Err(wrong(name, "a whole number of bytes, 0 or more", value))
}

fn at_least_a_character(value: &JsValue, name: &str) -> Result<u64> {
    match whole_bytes(value, name)? {
        bytes if bytes >= LONGEST_CHARACTER => Ok(bytes),
        _ => Err(wrong(name, "a whole number of bytes, 4 or more (the longest character)", value)),
    }
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = RegExp, extends = Object)]
    type Expression;

    /// Unlike js-sys's, it may throw: a pattern may be none.
    #[wasm_bindgen(constructor, catch, js_class = "RegExp")]
    fn new(pattern: &str) -> std::result::Result<Expression, JsValue>;
}

fn regular_expression(value: &JsValue, name: &str) -> Result<RegExp> {
    let pattern = string(value, name)?;
    match Expression::new(&pattern) {
        Ok(expression) => Ok(expression.unchecked_into()),
        Err(error) => Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: "a regular expression of JavaScript".to_owned(),
            actual: format!("{pattern:?}: {}", message(&error)),
        }
        .into()),
    }
}

fn message(error: &JsValue) -> String {
    let message = Reflect::get(error, &"message".into()).ok();
    message.and_then(|message| message.as_string()).unwrap_or_default()
}
