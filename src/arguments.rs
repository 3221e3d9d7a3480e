//! Reading the arguments of a call. A wrong one is named, with what it was and what is right.

use std::collections::BTreeMap;

use js_sys::{Array, Function, JsString, Object, Reflect};
use sandpipe_protocol::TerminalSize;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::AbortSignal;

use crate::error::{Error, Result};
use crate::request::ExecId;

/// A string. JS strings may hold lone surrogates; those have no UTF-8 and would arrive as U+FFFD.
pub(crate) fn string(value: &JsValue, name: &str) -> Result<String> {
    let Some(text) = value.dyn_ref::<JsString>() else {
        return Err(wrong(name, "a string", value));
    };
    if !text.is_valid_utf16() {
        return Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: "well-formed text".to_owned(),
            actual: "a string with a lone surrogate".to_owned(),
        }
        .into());
    }
    Ok(text.into())
}

/// Text that a shell can hold: no argument, variable or path can have a NUL in it.
pub(crate) fn shell_text(value: &JsValue, name: &str) -> Result<String> {
    let text = string(value, name)?;
    match text.find('\0') {
        None => Ok(text),
        Some(at) => Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: "text without the character U+0000, which no shell can hold".to_owned(),
            actual: format!("text with one at byte {at}"),
        }
        .into()),
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
    const EXPECTED: &str = "a whole number";
    if value.is_undefined() {
        return Ok(0);
    }
    let number = value.as_f64().ok_or_else(|| wrong("lastSequence", EXPECTED, value))?;
    if !js_sys::Number::is_safe_integer(value) {
        return Err(wrong("lastSequence", EXPECTED, value));
    }
    // Exact: it is a safe integer.
    #[allow(clippy::cast_possible_truncation)]
    Ok(number as i64)
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(value: &JsValue, name: &str) -> Result<f64> {
    match value.as_f64() {
        Some(number) if number >= 0.0 => Ok(number),
        _ => Err(wrong(name, "a number of milliseconds, 0 or more", value)),
    }
}

/// A whole number, at least 1.
pub(crate) fn positive(value: &JsValue, name: &str) -> Result<u32> {
    let number = value.as_f64().filter(|number| *number >= 1.0);
    match number {
        // Exact but for numbers that are too large to count to.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(number) if js_sys::Number::is_integer(value) || number.is_infinite() => {
            Ok(number as u32)
        }
        _ => Err(wrong(name, "a whole number, 1 or more", value)),
    }
}

/// The size of a terminal in characters.
pub(crate) fn terminal_size(cols: &JsValue, rows: &JsValue) -> Result<TerminalSize> {
    let side = |value: &JsValue, name: &str| {
        let number = positive(value, name)?;
        u16::try_from(number).map_err(|_| wrong(name, "at most 65535", value))
    };
    Ok(TerminalSize { cols: side(cols, "cols")?, rows: side(rows, "rows")? })
}

/// A number of bytes.
pub(crate) fn bytes(value: &JsValue, name: &str) -> Result<u64> {
    match value.as_f64() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(number) if number >= 0.0 => Ok(number as u64),
        _ => Err(wrong(name, "a number of bytes, 0 or more", value)),
    }
}

/// An `AbortSignal`, also one of another realm.
pub(crate) fn abort_signal(value: &JsValue, name: &str) -> Result<AbortSignal> {
    let has = |key: &str| Reflect::get(value, &key.into()).ok();
    let aborted = has("aborted").is_some_and(|aborted| aborted.as_bool().is_some());
    let listens = has("addEventListener").is_some_and(|listen| listen.is_function());
    if value.is_object() && aborted && listens {
        return Ok(value.unchecked_ref::<AbortSignal>().clone());
    }
    Err(wrong(name, "an AbortSignal", value))
}

/// The name of a signal; by default `SIGTERM`.
pub(crate) fn signal_name(value: &JsValue) -> Result<String> {
    if value.is_undefined() {
        return Ok("SIGTERM".to_owned());
    }
    let name = string(value, "signal")?;
    let known = name.starts_with("SIG") && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if known {
        Ok(name)
    } else {
        Err(wrong("signal", "the name of a signal such as \"SIGTERM\"", value))
    }
}

/// Strings in an array.
pub(crate) fn strings(value: &JsValue, name: &str) -> Result<Vec<String>> {
    if !Array::is_array(value) {
        return Err(wrong(name, "an array of strings", value));
    }
    let array: &Array = value.unchecked_ref();
    array
        .iter()
        .enumerate()
        .map(|(index, item)| string(&item, &format!("{name}[{index}]")))
        .collect()
}

/// The strings in an object, by name.
pub(crate) fn string_map(value: &JsValue, name: &str) -> Result<BTreeMap<String, String>> {
    let fields = Fields::of(value, name)?;
    let mut strings = BTreeMap::new();
    for key in fields.names() {
        let text = fields.required(&key, string)?;
        strings.insert(key, text);
    }
    Ok(strings)
}

/// The fields of an argument that is an object.
pub(crate) struct Fields<'a> {
    object: Object,
    name: &'a str,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &JsValue, name: &'a str) -> Result<Self> {
        if !value.is_object() || Array::is_array(value) {
            return Err(wrong(name, "an object", value));
        }
        Ok(Self { object: value.unchecked_ref::<Object>().clone(), name })
    }

    /// The same, for an argument that may be left out.
    pub(crate) fn of_optional(value: &JsValue, name: &'a str) -> Result<Self> {
        if value.is_undefined() {
            return Ok(Self { object: Object::new(), name });
        }
        Self::of(value, name)
    }

    /// Refuses fields beside these: a misspelt option would otherwise do nothing, silently.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        match self.names().into_iter().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(Error::InvalidArgument {
                name: self.name.to_owned(),
                expected: format!("an object with no other fields than {}", known.join(", ")),
                actual: format!("one with {unknown:?}"),
            }
            .into()),
        }
    }

    pub(crate) fn required<T>(
        &self,
        key: &str,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> Result<T> {
        read(&self.get(key)?, &self.path(key))
    }

    /// None where the field is missing or undefined.
    pub(crate) fn optional<T>(
        &self,
        key: &str,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> Result<Option<T>> {
        let value = self.get(key)?;
        if value.is_undefined() {
            return Ok(None);
        }
        read(&value, &self.path(key)).map(Some)
    }

    fn get(&self, key: &str) -> Result<JsValue> {
        // A getter of the caller's may throw.
        Reflect::get(&self.object, &key.into()).map_err(Error::thrown)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        Object::keys(&self.object).iter().filter_map(|key| key.as_string()).collect()
    }

    fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }
}

pub(crate) fn wrong(name: &str, expected: &str, value: &JsValue) -> Box<Error> {
    Box::new(Error::InvalidArgument {
        name: name.to_owned(),
        expected: expected.to_owned(),
        actual: describe(value),
    })
}

fn describe(value: &JsValue) -> String {
    const LENGTH: usize = 60;
    if let Some(text) = value.as_string() {
        let mut excerpt: String = text.chars().take(LENGTH).collect();
        if excerpt.len() < text.len() {
            excerpt.push('…');
        }
        return format!("the string {excerpt:?}");
    }
    if let Some(number) = value.dyn_ref::<js_sys::Number>() {
        // Formatted by JS: Rust's own code for it is large.
        return number
            .to_string_with_radix(10)
            .map_or_else(|_| "a number".to_owned(), |text| format!("the number {text}"));
    }
    let kind = value.js_typeof().as_string().unwrap_or_default();
    match (value, kind.as_str()) {
        _ if value.is_null() => "null".to_owned(),
        _ if Array::is_array(value) => "an array".to_owned(),
        (_, "object") => "an object".to_owned(),
        (_, "boolean") => format!("{}", value.is_truthy()),
        (_, "undefined") => kind,
        _ => format!("a {kind}"),
    }
}
