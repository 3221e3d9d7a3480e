//! The client's errors as JS sees them.

use std::cell::RefCell;

use js_sys::{Function, Object, Reflect};
use sandpipe_client::error::{Cause, Detail};
use sandpipe_client::{Error, HostText, HostValue, Result};
use wasm_bindgen::prelude::*;

thread_local! {
    static ERROR_FACTORY: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Says how errors are made of their class, message and fields (with `hint` and `cause`). To be called once, before
/// anything else.
#[wasm_bindgen(js_name = makeErrorsWith)]
pub fn make_errors_with(
    #[wasm_bindgen(
        unchecked_param_type = "(className: keyof typeof import('./errors.js'), message: string, details: object) => Error"
    )]
    factory: Function,
) {
    ERROR_FACTORY.set(Some(factory));
}

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
    let details = Object::new();
    let set = |name: &str, value: &JsValue| {
        // It always can: `details` is an ordinary, extensible object.
        Reflect::set(&details, &name.into(), value).is_ok_and(|set| set)
    };
    let described = error.describe(&mut |name, detail| {
        set(
            name,
            &match detail {
                Detail::Text(text) => text.into(),
                Detail::Number(number) => number.into(),
                Detail::Bool(value) => value.into(),
                Detail::Output(text) => js_text(text),
            },
        );
    });
    let description = match described {
        Ok(description) => description,
        Err(thrown) => return js_value(thrown),
    };
    if let Some(hint) = description.hint {
        set("hint", &hint.into());
    }
    if let Some(cause) = description.cause {
        set(
            "cause",
            &match cause {
                Cause::Error(error) => to_js(error),
                Cause::Value(value) => js_value(value),
                Cause::Reason(reason) => reason.into(),
            },
        );
    }
    let (class, message) = (description.class.into(), description.message.into());
    match ERROR_FACTORY.with_borrow(Clone::clone) {
        Some(factory) => factory
            .call3(&JsValue::UNDEFINED, &class, &message, &details)
            .unwrap_or_else(|thrown| thrown),
        None => message,
    }
}

/// The outcome of a call, as an exported function gives it.
pub(crate) fn or_throw<T>(outcome: Result<T>) -> std::result::Result<T, JsValue> {
    outcome.map_err(|error| to_js(&error))
}
