//! Values of JS, as the client has them.

use sandpipe_client::output::Encoding;
use sandpipe_client::{Error, HostOutput, HostValue};
use wasm_bindgen::prelude::*;

use super::bytes;

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

/// The string or `Uint8Array` of JS that an output of the host's is.
///
/// # Errors
/// The engine has no such array.
pub(crate) fn js_output(output: &HostOutput) -> Result<JsValue, JsValue> {
    match output.encoding() {
        Encoding::Utf8 => Ok(output.value().map_or_else(|| JsValue::from_str(""), js_value)),
        Encoding::Bytes => bytes::whole(output),
    }
}
