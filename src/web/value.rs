//! Values of JS, as the client has them.

use sandpipe_client::{Error, HostText, HostValue};
use wasm_bindgen::prelude::*;

/// What a function of the caller's threw.
pub(crate) fn thrown(value: JsValue) -> Box<Error> {
    Error::thrown(HostValue::new(value))
}

/// A value of JS, as the client has it; None for `undefined`.
pub(crate) fn host_value(value: JsValue) -> Option<HostValue> {
    (!value.is_undefined()).then(|| HostValue::new(value))
}

/// The value of JS that a value of the host's is: all that come back to callers are.
pub(crate) fn js_value(value: &HostValue) -> JsValue {
    value.downcast_ref::<JsValue>().cloned().unwrap_or_default()
}

/// The string of JS that a text of the host's is.
pub(crate) fn js_text(text: &HostText) -> JsValue {
    text.value().map_or_else(|| JsValue::from_str(""), js_value)
}
