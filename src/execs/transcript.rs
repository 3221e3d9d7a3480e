use js_sys::{JsString, Object, Reflect};
use sandpipe_protocol::OutputEvent;
use wasm_bindgen::prelude::*;

use super::sink::Sink;
use crate::errors::thrown;
use crate::js_string::to_js_string;
use crate::request::ExecId;
use sandpipe_client::error::{Error, OutputLimit, Result};
use sandpipe_client::host_value::{HostText, HostValue};
use sandpipe_text::{Mark, Text};

/// The most UTF-16 code units that a string can hold in every engine: V8's limit, 2^29 - 24, is the
/// lowest.
const MAX_STRING_LENGTH: u32 = (1 << 29) - 24;

/// How much text becomes a piece, in bytes of UTF-8. Smaller strings are moved about by V8's garbage
/// collector.
const PIECE: usize = 512 * 1024;

/// The output of an exec as it is collected. It is kept on the JS heap, where it can be freed again:
/// the memory of a WASM module never shrinks.
#[derive(Debug)]
pub(crate) struct Transcript {
    exec_id: String,
    /// The pieces so far. Engines put a concatenated string together when it is first looked at: who looks
    /// at the exit code alone does not pay for that.
    output: JsString,
    /// What is to become the next piece.
    text: Text,
    /// The end of the last event in it.
    end: Mark,
    bytes: u64,
    max_bytes: Option<u64>,
}

impl Transcript {
    /// Keeps at most so many bytes, counted as UTF-8.
    pub(crate) fn new(id: &ExecId, max_bytes: Option<u64>) -> Self {
        Self {
            exec_id: id.as_str().to_owned(),
            output: JsString::from(""),
            text: Text::default(),
            end: Mark::default(),
            bytes: 0,
            max_bytes,
        }
    }

    /// How many more bytes it may keep.
    fn room(&self) -> u64 {
        self.max_bytes.map_or(u64::MAX, |max| max - self.bytes)
    }

    /// Makes the text since the last time a piece.
    ///
    /// # Errors
    /// The whole would be more than is allowed: what fits is kept. Or it would be more than a JS string
    /// can hold: the piece is not kept.
    fn add_piece(&mut self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let added = self.text.utf8_length() as u64;
        let mut piece = to_js_string(&self.text)?;
        self.text.clear();
        self.end = self.text.end();
        let mut exceeded = None;
        if let Some(max) = self.max_bytes
            && added > self.room()
        {
            exceeded = Some(OutputLimit::Bytes(max));
            let text = String::from(piece);
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
            let (fitting, _) =
                text.split_at_checked(text.floor_char_boundary(room)).unwrap_or_default();
            piece = JsString::from(fitting);
        }
        match self.output.length().checked_add(piece.length()) {
            Some(length) if length <= MAX_STRING_LENGTH => {
                self.bytes += added.min(self.room());
                self.output = self.output.concat(&piece);
            }
            _ => exceeded = Some(OutputLimit::String(MAX_STRING_LENGTH)),
        }
        match exceeded {
            None => Ok(()),
            Some(limit) => Err(Error::OutputLimit {
                exec_id: self.exec_id.clone(),
                limit,
                output: self.host_text(),
                unstopped: None,
            }
            .into()),
        }
    }

    /// All of it as one string; as much as fits, if that is not all.
    pub(crate) fn text(&mut self) -> HostText {
        // What does not fit is left out.
        self.add_piece().unwrap_or_default();
        self.host_text()
    }

    fn host_text(&self) -> HostText {
        let value: JsValue = self.output.clone().into();
        HostText::new(HostValue::new(value), self.output.length())
    }

    /// `{ exitCode, output }`; `exitCode` is left out where there is none.
    ///
    /// # Errors
    /// The output is more than is allowed, or than a JS string can hold.
    pub(crate) fn outcome(&mut self, exit_code: Option<i32>) -> Result<JsValue> {
        self.add_piece()?;
        let outcome = Object::new();
        let set = |name: &str, value: &JsValue| {
            Reflect::set(&outcome, &name.into(), value).map_err(thrown)
        };
        if let Some(exit_code) = exit_code {
            set("exitCode", &exit_code.into())?;
        }
        set("output", &self.output)?;
        Ok(outcome.into())
    }
}

impl Sink for Transcript {
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        self.text.push_string(json)
    }

    fn take(&mut self, _event: OutputEvent<'_>) {
        self.end = self.text.end();
    }

    fn refuse(&mut self) {
        self.text.truncate(self.end);
    }

    fn end_batch(&mut self) -> Result<()> {
        let length = self.text.utf8_length();
        if length >= PIECE || length as u64 > self.room() { self.add_piece() } else { Ok(()) }
    }
}
