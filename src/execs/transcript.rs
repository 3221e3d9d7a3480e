use js_sys::{Array, JsString, Object, Reflect};
use sandpipe_protocol::ExecStdout;
use wasm_bindgen::prelude::*;

use crate::error::{Error, Result};
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
}

impl Transcript {
    /// Appends the text of the events.
    ///
    /// # Errors
    /// The whole would be more than a JS string can hold.
    pub(super) fn push(&mut self, events: &[ExecStdout], id: &ExecId) -> Result<()> {
        let text: String = events.iter().map(|event| event.output.as_str()).collect();
        let piece = JsString::from(text);
        match self.length.checked_add(piece.length()) {
            Some(length) if length <= MAX_STRING_LENGTH => {
                self.length = length;
                self.pieces.push(&piece);
                Ok(())
            }
            _ => Err(Error::OutputLimit {
                exec_id: id.as_str().to_owned(),
                limit: MAX_STRING_LENGTH,
                output: self.text(),
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
