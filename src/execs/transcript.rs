use js_sys::{Array, JsString, Object, Reflect};
use sandpipe_protocol::ExecStdout;
use wasm_bindgen::prelude::*;

use crate::error::{Error, OutputLimit, Result};
use crate::request::ExecId;

/// The most UTF-16 code units that a string can hold in every engine: V8's limit, 2^29 - 24, is the
/// lowest.
const MAX_STRING_LENGTH: u32 = (1 << 29) - 24;

/// The output of an exec as it is collected. It is kept on the JS heap, where it can be freed again:
/// the memory of a WASM module never shrinks.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pieces: Array,
    length: u32,
    bytes: u64,
    max_bytes: Option<u64>,
}

impl Transcript {
    /// Keeps at most so many bytes, counted as UTF-8.
    pub(super) fn new(max_bytes: Option<u64>) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// Appends the text of the events.
    ///
    /// # Errors
    /// The whole would be more than is allowed, or than a JS string can hold. What fits is kept.
    pub(super) fn push(&mut self, events: &[ExecStdout], id: &ExecId) -> Result<()> {
        let text: String = events.iter().map(|event| event.output.as_str()).collect();
        let mut kept = text.as_str();
        let mut exceeded = None;
        if let Some(max) = self.max_bytes {
            let room = usize::try_from(max - self.bytes).unwrap_or(usize::MAX);
            if text.len() > room {
                exceeded = Some(OutputLimit::Bytes(max));
                let (fitting, _) =
                    text.split_at_checked(text.floor_char_boundary(room)).unwrap_or_default();
                kept = fitting;
            }
        }
        let piece = JsString::from(kept);
        match self.length.checked_add(piece.length()) {
            Some(length) if length <= MAX_STRING_LENGTH => {
                self.length = length;
                self.bytes += kept.len() as u64;
                self.pieces.push(&piece);
            }
            _ => exceeded = Some(OutputLimit::String(MAX_STRING_LENGTH)),
        }
        match exceeded {
            None => Ok(()),
            Some(limit) => Err(Error::OutputLimit {
                exec_id: id.as_str().to_owned(),
                limit,
                output: self.text(),
                unstopped: None,
            }),
        }
    }

    /// All of it as one string.
    pub(super) fn text(&self) -> JsValue {
        self.pieces.join("").into()
    }

    /// `{ exitCode, output }`; `exitCode` is left out where there is none.
    pub(super) fn outcome(&self, exit_code: Option<i32>) -> Result<JsValue> {
        let outcome = Object::new();
        if let Some(exit_code) = exit_code {
            Reflect::set(&outcome, &"exitCode".into(), &exit_code.into()).map_err(Error::Thrown)?;
        }
        Reflect::set(&outcome, &"output".into(), &self.text()).map_err(Error::Thrown)?;
        Ok(outcome.into())
    }
}
