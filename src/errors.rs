//! The client's errors as JS sees them.

use js_sys::{Object, Reflect};
use sandpipe_client::error::{Cause, Detail, Error, Result};
use wasm_bindgen::prelude::*;

use crate::shim::shim;
use crate::web::value::{js_output, js_value};

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
                // Who has no room for it has the error all the same.
                Detail::Output(output) => js_output(output).unwrap_or_default(),
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
    shim()
        .make_error(description.class, &description.message, &details)
        .unwrap_or_else(|thrown| thrown)
}

/// The outcome of a call, as an exported function gives it.
pub(crate) fn or_throw<T>(outcome: Result<T>) -> std::result::Result<T, JsValue> {
    outcome.map_err(|error| to_js(&error))
}
