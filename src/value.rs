//! From Rust values to JS values.

use js_sys::JSON;
use sandpipe_protocol::json::{self, ToJson};
use wasm_bindgen::prelude::*;

use crate::errors::thrown;
use sandpipe_client::error::Result;

/// The JS value that `value`'s JSON stands for.
///
/// As text, a value of any size crosses the boundary once; field by field it would cross once for
/// each, which is slower for all but the smallest.
pub(crate) fn to_js(value: &dyn ToJson) -> Result<JsValue> {
    JSON::parse(&json::to_string(value)).map_err(thrown)
}
