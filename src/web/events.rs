use std::borrow::Cow;
use std::cell::RefCell;

use js_sys::{Array, Float64Array, Function};
use sandpipe_protocol::{OutputEvent, OutputType};
use sandpipe_text::{Mark, Text};
use wasm_bindgen::{JsCast, prelude::*};

use crate::errors::thrown;
use crate::web::text::to_js_string;
use sandpipe_client::Result;
use sandpipe_client::output::OutputSink;

thread_local! {
    static EVENT_FACTORY: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Says how events are made of what crosses. In `numbers` each event has five: where its output ends in `outputs`, where its
/// timestamp ends in `timestamps` or NaN, its sequence number, 0 for stdout or 1 for stderr, and its exit
/// code or NaN. To be called once, before anything is read.
#[wasm_bindgen(js_name = makeEventsWith)]
pub fn make_events_with(
    #[wasm_bindgen(
        unchecked_param_type = "(outputs: string, timestamps: string, numbers: Float64Array) => ExecStdout[]"
    )]
    maker: Function,
) {
    EVENT_FACTORY.set(Some(maker));
}

/// Events on their way to JS. They cross together: a text of all outputs, one of all timestamps, and the
/// numbers; no field crosses by itself, and nothing is read twice.
#[derive(Debug, Default)]
pub(crate) struct EventBatch {
    outputs: Text,
    /// The end of the last event in `outputs`.
    end: Mark,
    timestamps: Text,
    numbers: Vec<f64>,
}

impl EventBatch {
    /// The events since the last time (`ExecStdout[]`).
    pub(crate) fn take_array(&mut self) -> Result<Array> {
        let maker = EVENT_FACTORY.with_borrow(Clone::clone).ok_or_else(|| {
            thrown(js_sys::Error::new("makeEventsWith has not been called").into())
        })?;
        let (outputs, timestamps) = (to_js_string(&self.outputs)?, to_js_string(&self.timestamps)?);
        let numbers = Float64Array::from(&*self.numbers);
        self.outputs.clear();
        self.end = self.outputs.end();
        self.timestamps.clear();
        self.numbers.clear();
        let events = maker.call3(&JsValue::UNDEFINED, &outputs, &timestamps, &numbers);
        Ok(events.map_err(thrown)?.unchecked_into())
    }

    /// Calls a function of the caller's with each of the events since the last time.
    fn call_listener(&mut self, listener: &Function) -> Result<()> {
        for event in self.take_array()? {
            listener.call1(&JsValue::UNDEFINED, &event).map_err(thrown)?;
        }
        Ok(())
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
}

/// Calls a function of the caller's with each event of an output, as it comes: `onOutput`.
#[derive(Debug)]
pub(crate) struct Listener {
    function: Function,
    events: EventBatch,
}

impl Listener {
    pub(crate) fn new(function: Function) -> Self {
        Self { function, events: EventBatch::default() }
    }
}

impl OutputSink for Listener {
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        self.events.read_output(json)
    }

    fn take(&mut self, event: OutputEvent<'_>) {
        self.events.take(event);
    }

    fn discard(&mut self) {
        self.events.discard();
    }

    fn flush(&mut self) -> Result<()> {
        self.events.call_listener(&self.function)
    }
}
