use js_sys::{Array, Function, JsString};
use sandpipe_protocol::OutputEvent;
use wasm_bindgen::{JsCast, prelude::*};

use super::sink::Sink;
use crate::error::{Error, Result};
use crate::js_string::to_js_string;
use sandpipe_text::Text;

#[wasm_bindgen]
extern "C" {
    /// `JSON.parse` of a string that is JS's already.
    #[wasm_bindgen(js_namespace = JSON, catch)]
    fn parse(text: &JsString) -> std::result::Result<JsValue, JsValue>;
}

/// Events on their way to JS. They cross together, as the JSON that they came in: nothing is read
/// twice, and no field crosses by itself.
#[derive(Debug, Default)]
pub(crate) struct EventList(Text);

impl EventList {
    /// The events since the last time (`ExecStdout[]`).
    pub(crate) fn take_array(&mut self) -> Result<Array> {
        self.0.push_utf8(if self.0.is_empty() { b"[]" } else { b"]" });
        let array = parse(&to_js_string(&self.0)?);
        self.0.clear();
        Ok(array.map_err(Error::Thrown)?.unchecked_into())
    }
}

impl EventList {
    /// Calls a function of the caller's with each of the events since the last time.
    pub(crate) fn tell(&mut self, listener: &Function) -> Result<()> {
        for event in self.take_array()? {
            listener.call1(&JsValue::UNDEFINED, &event).map_err(Error::Thrown)?;
        }
        Ok(())
    }
}

impl Sink for EventList {
    fn take(&mut self, event: OutputEvent<'_>) {
        self.0.push_utf8(if self.0.is_empty() { b"[" } else { b"," });
        self.0.push_utf8(event.json);
    }
}
