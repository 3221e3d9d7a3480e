//! From Rust values to JS values.

use js_sys::{JSON, Object, Reflect};
use sandpipe_client::output::transcript::ExecResult;
use sandpipe_protocol::json::{self, ToJson};
use wasm_bindgen::prelude::*;

use crate::errors::{js_text, thrown};
use sandpipe_client::error::Result;

/// The JS value that `value`'s JSON stands for.
///
/// As text, a value of any size crosses the boundary once; field by field it would cross once for
/// each, which is slower for all but the smallest.
pub(crate) fn to_js(value: &dyn ToJson) -> Result<JsValue> {
    JSON::parse(&json::to_string(value)).map_err(thrown)
}

/// The same, as what a call resolves.
#[allow(clippy::needless_pass_by_value)] // A call gives values.
pub(crate) fn json<T: ToJson>(value: T) -> Result<JsValue> {
    to_js(&value)
}

#[wasm_bindgen(typescript_custom_section)]
const RESULTS: &str = r"
/** What became of a command. */
export interface ExecResult {
    /** The process's own exit code, 128 + N after death by signal N. */
    exitCode: number;
    /** Its stdout and stderr, joined in order of arrival. */
    output: string;
}

/** An exec's output up to now. */
export interface ExecSnapshot {
    /** The exit code, if the process has ended and its last event is among those asked for. */
    exitCode?: number;
    /** Its stdout and stderr, joined in order of arrival. */
    output: string;
}

/** How a stopped command ended. */
export interface TerminateResult {
    /** The process's own exit code, 128 + N after death by signal N. */
    exitCode: number;
    /** Whether it took SIGKILL. */
    forced: boolean;
}
";

/// `{ exitCode, output }`; `exitCode` is left out where there is none.
pub(crate) fn exec_result(ExecResult { exit_code, output }: ExecResult) -> Result<JsValue> {
    let object = Object::new();
    let set =
        |name: &str, value: &JsValue| Reflect::set(&object, &name.into(), value).map_err(thrown);
    if let Some(exit_code) = exit_code {
        set("exitCode", &exit_code.into())?;
    }
    set("output", &js_text(&output))?;
    Ok(object.into())
}
