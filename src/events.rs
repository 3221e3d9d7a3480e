//! Events of outputs on their way to JS.

use std::borrow::Cow;

use js_sys::{Array, Float64Array, Function};
use sandpipe_client::Result;
use sandpipe_client::output::OutputSink;
use sandpipe_protocol::{OutputEvent, OutputType};
use sandpipe_text::{Mark, Text};
use wasm_bindgen::prelude::*;

use crate::shim::shim;
use crate::web::text::to_js_string;
use crate::web::value::thrown;

/// Events on their way to JS. They cross together: a text of all outputs, one of all timestamps, and the
/// numbers; no field crosses by itself, and nothing is read twice.
#[derive(Debug, Default)]
pub(crate) struct EventBatch {
    outputs: Text,
    /// The end of the last event in `outputs`.
    end: Mark,
    timestamps: Text,
    numbers: Vec<f64>,
    /// A function of the caller's that is called with each event as it comes: `onOutput`.
    pub(crate) listener: Option<Function>,
}

impl EventBatch {
    /// The events since the last time (`ExecStdout[]`).
    pub(crate) fn take_array(&mut self) -> Result<Array> {
        let (outputs, timestamps) = (to_js_string(&self.outputs)?, to_js_string(&self.timestamps)?);
        let numbers = Float64Array::from(&*self.numbers);
        self.outputs.clear();
        self.end = self.outputs.end();
        self.timestamps.clear();
        self.numbers.clear();
        shim().make_events(&outputs, &timestamps, &numbers).map_err(thrown)
    }
}

impl OutputSink for EventBatch {
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        self.outputs.push_string(json)
    }

    // As JSON.parse has it: beyond 2^53 a number is the nearest that there is.
    #[allow(clippy::cast_precision_loss)]
    fn take(&mut self, event: OutputEvent<'_>) {
        self.end = self.outputs.end();
        let timestamp_end = event.timestamp.map_or(f64::NAN, |timestamp| {
            self.timestamps.push_utf8(&Cow::from(timestamp));
            self.timestamps.length() as f64
        });
        self.numbers.extend([
            self.outputs.length() as f64,
            timestamp_end,
            event.sequence as f64,
            match event.kind {
                OutputType::Stdout => 0.0,
                OutputType::Stderr => 1.0,
            },
            event.exit_code.map_or(f64::NAN, f64::from),
        ]);
    }

    fn discard(&mut self) {
        self.outputs.truncate(self.end);
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(listener) = self.listener.clone() {
            for event in self.take_array()? {
                listener.call1(&JsValue::UNDEFINED, &event).map_err(thrown)?;
            }
        }
        Ok(())
    }
}
