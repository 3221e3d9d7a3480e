//! Reading the arguments of a call. A wrong one is named, with what it was and what is right.

use std::collections::BTreeMap;

use js_sys::{Array, Function, JsString, Reflect};
use sandpipe_client::{AbortSignal, ExecId, Result};
use sandpipe_protocol::TerminalSize;
use wasm_bindgen::{JsCast, prelude::*};

use crate::fields::texts;
use crate::invalid_argument::{invalid, wrong};
use crate::web;

/// A string. JS strings may hold lone surrogates; those have no UTF-8 and would arrive as U+FFFD.
pub(crate) fn string(value: &JsValue, name: &str) -> Result<String> {
    let Some(text) = value.dyn_ref::<JsString>() else {
        return Err(wrong(name, "a string", value));
    };
    if !text.is_valid_utf16() {
        return Err(invalid(name, "well-formed text", "a string with a lone surrogate"));
    }
    Ok(text.into())
}

/// Text that a command can be given: no argument, variable or path can have a NUL in it.
pub(crate) fn shell_text(value: &JsValue, name: &str) -> Result<String> {
    const EXPECTED: &str = "text without NUL, which no argument, variable or path can hold";
    let text = string(value, name)?;
    match text.find('\0') {
        None => Ok(text),
        Some(at) => Err(invalid(name, EXPECTED, &format!("text with one at byte {at}"))),
    }
}

pub(crate) fn boolean(value: &JsValue, name: &str) -> Result<bool> {
    value.as_bool().ok_or_else(|| wrong(name, "a boolean", value))
}

pub(crate) fn function(value: &JsValue, name: &str) -> Result<Function> {
    value.dyn_ref::<Function>().cloned().ok_or_else(|| wrong(name, "a function", value))
}

pub(crate) fn exec_id(value: &JsValue) -> Result<ExecId> {
    ExecId::parse(string(value, "id")?).ok_or_else(|| wrong("id", "the id of an exec", value))
}

/// The sequence number after which events are wanted; by default 0: all.
pub(crate) fn last_sequence(value: &JsValue) -> Result<i64> {
    match value.as_f64() {
        None if value.is_undefined() => Ok(0),
        // Exact: it is a safe integer.
        #[allow(clippy::cast_possible_truncation)]
        Some(number) if js_sys::Number::is_safe_integer(value) => Ok(number as i64),
        _ => Err(wrong("lastSequence", "a whole number", value)),
    }
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(value: &JsValue, name: &str) -> Result<f64> {
    match value.as_f64() {
        Some(number) if number >= 0.0 => Ok(number),
        _ => Err(wrong(name, "a number of milliseconds, 0 or more", value)),
    }
}

/// A whole number, or an infinite one, of this size or more.
fn whole(value: &JsValue, least: f64) -> Option<f64> {
    let is_whole = |number: &f64| number.is_infinite() || js_sys::Number::is_integer(value);
    value.as_f64().filter(|number| *number >= least).filter(is_whole)
}

/// A whole number, at least 1. One that is too large to count to is the largest that can be.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn positive(value: &JsValue, name: &str) -> Result<u32> {
    let number = whole(value, 1.0).map(|number| number as u32);
    number.ok_or_else(|| wrong(name, "a whole number, 1 or more", value))
}

/// The size of a terminal in characters.
pub(crate) fn terminal_size(cols: &JsValue, rows: &JsValue) -> Result<TerminalSize> {
    Ok(TerminalSize { cols: terminal_side(cols, "cols")?, rows: terminal_side(rows, "rows")? })
}

/// The columns or rows of a terminal.
pub(crate) fn terminal_side(value: &JsValue, name: &str) -> Result<u16> {
    let number = positive(value, name)?;
    u16::try_from(number).map_err(|_| wrong(name, "at most 65535", value))
}

/// A TCP port.
pub(crate) fn port(value: &JsValue, name: &str) -> Result<u16> {
    let number = positive(value, name).ok().and_then(|number| u16::try_from(number).ok());
    number.ok_or_else(|| wrong(name, "a port from 1 to 65535", value))
}

/// A whole number of bytes; an infinite one stands for no limit.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn bytes(value: &JsValue, name: &str) -> Result<u64> {
    let number = whole(value, 0.0).map(|number| number as u64);
    number.ok_or_else(|| wrong(name, "a whole number of bytes, 0 or more", value))
}

/// An `AbortSignal`, also one of another realm. It is listened to from now on.
pub(crate) fn abort_signal(value: &JsValue, name: &str) -> Result<AbortSignal> {
    let has = |key: &str| Reflect::get(value, &key.into()).ok();
    let aborted = has("aborted").is_some_and(|aborted| aborted.as_bool().is_some());
    let listens = has("addEventListener").is_some_and(|listen| listen.is_function());
    if value.is_object() && aborted && listens {
        return Ok(web::abort::abort_signal(value.unchecked_ref::<web_sys::AbortSignal>().clone()));
    }
    Err(wrong(name, "an AbortSignal", value))
}

/// The name of a signal, or `0` for the null signal; by default `SIGTERM`.
pub(crate) fn signal_name(value: &JsValue) -> Result<String> {
    if value.is_undefined() {
        return Ok("SIGTERM".to_owned());
    }
    let name = string(value, "signal")?;
    let known = name.starts_with("SIG") && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if known || name == "0" {
        Ok(name)
    } else {
        Err(wrong("signal", "the name of a signal such as \"SIGTERM\"", value))
    }
}

/// The name or path of a program.
pub(crate) fn program(value: &JsValue, name: &str) -> Result<String> {
    let program = shell_text(value, name)?;
    if program.is_empty() {
        return Err(wrong(name, "the name or path of a program", value));
    }
    Ok(program)
}

/// A command's arguments.
pub(crate) fn command_arguments(value: &JsValue, name: &str) -> Result<Vec<String>> {
    if !Array::is_array(value) {
        return Err(wrong(name, "an array of strings", value));
    }
    let array: &Array = value.unchecked_ref();
    array
        .iter()
        .enumerate()
        .map(|(index, item)| shell_text(&item, &format!("{name}[{index}]")))
        .collect()
}

/// Environment variables by name.
pub(crate) fn variables(value: &JsValue, name: &str) -> Result<BTreeMap<String, String>> {
    let is_name = |key: &str| !key.is_empty() && !key.bytes().any(|byte| matches!(byte, b'=' | 0));
    variables_named(value, name, &is_name, "without `=` and NUL")
}

/// The same, with names of a certain kind.
pub(crate) fn variables_named(
    value: &JsValue,
    name: &str,
    is_name: &dyn Fn(&str) -> bool,
    kind: &str,
) -> Result<BTreeMap<String, String>> {
    let mut variables = BTreeMap::new();
    for (key, text) in texts(value, name, shell_text)? {
        if !is_name(&key) {
            let expected = format!("an object whose keys are names of variables: {kind}");
            return Err(invalid(name, &expected, &format!("one with {key:?}")));
        }
        // One by one: a collected map would bring the code of a sort.
        variables.insert(key, text);
    }
    Ok(variables)
}
