//! What calls resolve, as values of JS. Their TypeScript types are those of the structs in the client.

use js_sys::{JSON, Object, Reflect};
use sandpipe_client::background::BackgroundFoundOutput;
use sandpipe_client::execs::{ExecSnapshot, FoundOutput};
use sandpipe_client::output::{ExecResult, MatchValue};
use sandpipe_client::{HostOutput, Result};
use sandpipe_protocol::OutputType;
use sandpipe_protocol::json::{self, ToJson};
use wasm_bindgen::prelude::*;

use crate::shim::shim;
use crate::web::value::{js_output, js_value, thrown};

/// The JS value that `value`'s JSON stands for.
///
/// As text, a value of any size crosses the boundary once; field by field it would cross once for each, which is slower for
/// all but the smallest. `serde-wasm-bindgen`, for background processes and `terminate()` alone, would add 2.7 KB of gzip to the module.
pub(crate) fn to_js(value: &dyn ToJson) -> Result<JsValue> {
    JSON::parse(&json::to_string(value)).map_err(thrown)
}

/// The same, as what a call resolves.
#[allow(clippy::needless_pass_by_value)] // A call gives values.
pub(crate) fn json<T: ToJson>(value: T) -> Result<JsValue> {
    to_js(&value)
}

#[allow(clippy::needless_pass_by_value)] // A call gives values.
pub(crate) fn exec_result(result: ExecResult) -> Result<JsValue> {
    let output = js_output(&result.output).map_err(thrown)?;
    shim().make_result(result.exit_code, &output, &result.runs).map_err(thrown)
}

/// What became of a script: without its streams apart.
pub(crate) fn run_result(ExecResult { exit_code, output, .. }: ExecResult) -> Result<JsValue> {
    Ok(with_output(Some(exit_code), &output)?.into())
}

pub(crate) fn exec_snapshot(snapshot: ExecSnapshot) -> Result<JsValue> {
    let ExecSnapshot { exit_code, output, last_sequence } = snapshot;
    let object = with_output(exit_code, &output)?;
    set(&object, "lastSequence", &last_sequence.into())?;
    Ok(object.into())
}

/// What a wait for a text has found.
#[allow(clippy::needless_pass_by_value)] // A call gives values.
pub(crate) fn found_output(found: FoundOutput) -> Result<JsValue> {
    let object = Object::new();
    set(&object, "match", &match_value(&found.value))?;
    set(&object, "event", &to_js(&found.event)?)?;
    Ok(object.into())
}

/// The same of a background process.
#[allow(clippy::needless_pass_by_value)] // A call gives values.
#[allow(clippy::cast_precision_loss)] // Exact up to 2^53.
pub(crate) fn background_found_output(found: BackgroundFoundOutput) -> Result<JsValue> {
    let object = Object::new();
    let stream = match found.stream {
        OutputType::Stdout => "stdout",
        OutputType::Stderr => "stderr",
    };
    set(&object, "match", &match_value(&found.value))?;
    set(&object, "stream", &stream.into())?;
    set(&object, "nextOffset", &(found.next_offset as f64).into())?;
    Ok(object.into())
}

/// A text that was found: the string, or what the `RegExp` has given.
fn match_value(value: &MatchValue) -> JsValue {
    match value {
        MatchValue::Text(text) => JsValue::from_str(text),
        MatchValue::Expression(value) => js_value(value),
    }
}

/// The output is a string of JS already.
fn with_output(exit_code: Option<i32>, output: &HostOutput) -> Result<Object> {
    let object = Object::new();
    if let Some(exit_code) = exit_code {
        set(&object, "exitCode", &exit_code.into())?;
    }
    set(&object, "output", &js_output(output).map_err(thrown)?)?;
    Ok(object)
}

fn set(object: &Object, name: &str, value: &JsValue) -> Result<bool> {
    Reflect::set(object, &name.into(), value).map_err(thrown)
}
