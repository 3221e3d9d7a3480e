//! From Rust values to JS values.

use js_sys::JSON;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::error::Error;

/// The JS value that `value`'s JSON stands for.
///
/// As text, a value of any size crosses the boundary once; field by field it would cross once for
/// each, which is slower for all but the smallest.
pub(crate) fn to_js(value: &impl Serialize) -> Result<JsValue, Error> {
    let text =
        serde_json::to_string(value).map_err(|error| Error::Thrown(error.to_string().into()))?;
    JSON::parse(&text).map_err(Error::Thrown)
}
