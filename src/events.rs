//! Events of outputs on their way to JS.

use js_sys::{Array, Float64Array, Function, Promise, Uint8Array};
use sandpipe_client::output::{Encoding, Event, OutputBuffer, OutputSink};
use sandpipe_client::{Call, Result};
use sandpipe_protocol::{EventTime, OutputType};
use sandpipe_text::Text;
use wasm_bindgen_futures::JsFuture;

use crate::shim::shim;
use crate::web::text::to_js_string;
use crate::web::value::thrown;

/// Events on their way to JS. They cross together: a text of all outputs, or their bytes, a text of all timestamps, and the
/// numbers; no field crosses by itself, and nothing is read twice.
#[derive(Debug)]
pub(crate) struct EventBatch {
    outputs: OutputBuffer,
    timestamps: Text,
    numbers: Vec<f64>,
    /// A function of the caller's that is called with each event as it comes: `onOutput`.
    listener: Option<Function>,
    /// What the listener has not done with yet.
    delivering: Option<Promise>,
}

impl EventBatch {
    /// One for an output in this encoding.
    pub(crate) fn new(encoding: Encoding, listener: Option<Function>) -> Self {
        let (outputs, timestamps) = (OutputBuffer::new(encoding), Text::default());
        Self { outputs, timestamps, numbers: Vec::new(), listener, delivering: None }
    }

    /// The events since the last time (`ExecStdout[]`).
    pub(crate) fn take_array(&mut self) -> Result<Array> {
        let outputs = match &self.outputs {
            OutputBuffer::Text(text) => to_js_string(text)?.into(),
            OutputBuffer::Bytes(bytes) => Uint8Array::from(&**bytes).into(),
        };
        let timestamps = to_js_string(&self.timestamps)?;
        let numbers = Float64Array::from(&*self.numbers);
        self.outputs.clear();
        self.timestamps.clear();
        self.numbers.clear();
        shim().make_events(&outputs, &timestamps, &numbers).map_err(thrown)
    }
}

impl OutputSink for EventBatch {
    fn set_encoding(&mut self, encoding: Encoding) {
        self.outputs = OutputBuffer::new(encoding);
    }

    // As JSON.parse has it: beyond 2^53 a number is the nearest that there is.
    #[allow(clippy::cast_precision_loss)]
    fn take(&mut self, event: &Event<'_>) {
        self.outputs.push(&event.output);
        let timestamp_end = event.time.map_or(f64::NAN, |time| {
            match time {
                EventTime::Text(text) => self.timestamps.push_utf8(text.as_bytes()),
                EventTime::Micros(time) => self.timestamps.push_utf8(&time.text()),
            }
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

    fn flush(&mut self) -> Result<()> {
        if let Some(listener) = self.listener.clone() {
            let events = self.take_array()?;
            let before = self.delivering.take();
            self.delivering = shim().deliver(before, &events, &listener).map_err(thrown)?;
        }
        Ok(())
    }

    fn settled(&mut self) -> Option<Call<()>> {
        // It stays: what comes after a stop, which waits for no listener, comes behind it.
        let delivering = JsFuture::from(self.delivering.clone()?);
        Some(Box::pin(async { delivering.await.map(drop).map_err(thrown) }))
    }
}
