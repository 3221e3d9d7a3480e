//! The client's errors as JS sees them.

use js_sys::Reflect;
use sandpipe_client::error::{Cause, Detail, Error, Result};
use sandpipe_client::host_value::{HostText, HostValue};
use wasm_bindgen::prelude::*;

/// The `name` of the JS error that carries a failure out of the core. The package turns it into the
/// error class that its `code` stands for.
const FAILURE: &str = "SandpipeFailure";

/// What a function of the caller's threw.
pub(crate) fn thrown(value: JsValue) -> Box<Error> {
    Error::thrown(HostValue::new(value))
}

/// A value of JS, as the client has it; None for `undefined`.
pub(crate) fn host_value(value: JsValue) -> Option<HostValue> {
    (!value.is_undefined()).then(|| HostValue::new(value))
}

/// The value of JS that a value of the host's is.
pub(crate) fn js_value(value: &HostValue) -> JsValue {
    // All of them are.
    value.downcast_ref::<JsValue>().cloned().unwrap_or_default()
}

/// The string of JS that a text of the host's is.
pub(crate) fn js_text(text: &HostText) -> JsValue {
    text.value().map_or_else(|| JsValue::from_str(""), js_value)
}

/// The value that a call throws, or a promise rejects with.
pub(crate) fn to_js(error: &Error) -> JsValue {
    let description = match error.describe() {
        Ok(description) => description,
        Err(thrown) => return js_value(thrown),
    };
    let failure = js_sys::Error::new(&description.message);
    failure.set_name(FAILURE);
    let set = |name: &str, value: &JsValue| {
        // It always can: `failure` is an ordinary, extensible object.
        Reflect::set(&failure, &name.into(), value).is_ok_and(|set| set)
    };
    set("code", &description.code.into());
    if let Some(hint) = description.hint {
        set("hint", &hint.into());
    }
    error.visit_details(&mut |name, detail| {
        set(name, &detail_to_js(&detail));
    });
    failure.into()
}

fn detail_to_js(detail: &Detail<'_>) -> JsValue {
    match detail {
        Detail::Text(text) | Detail::Cause(Cause::Reason(text)) => (*text).into(),
        Detail::Number(number) => (*number).into(),
        Detail::Bool(value) => (*value).into(),
        Detail::Output(text) => js_text(text),
        Detail::Cause(Cause::Error(error)) => to_js(error),
        Detail::Cause(Cause::Value(value)) => js_value(value),
    }
}

/// The outcome of a call, as an exported function gives it.
pub(crate) fn or_throw<T>(outcome: Result<T>) -> std::result::Result<T, JsValue> {
    outcome.map_err(|error| to_js(&error))
}
