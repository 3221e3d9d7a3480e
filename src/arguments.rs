//! Reading the arguments of a call. A wrong one is named, with what it was and what is right.

use std::collections::BTreeMap;

use js_sys::{Array, Function, JsString, Object, Reflect};
use sandpipe_client::{AbortSignal, Error, ExecId, Result};
use sandpipe_protocol::TerminalSize;
use wasm_bindgen::{JsCast, prelude::*};

use crate::errors::thrown;
use crate::web;

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

/// Text that a command can be given: no argument, variable or path can have a NUL in it.
pub(crate) fn shell_text(value: &JsValue, name: &str) -> Result<String> {
    let text = string(value, name)?;
    match text.find('\0') {
        None => Ok(text),
        Some(at) => Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: "text without NUL, which no argument, variable or path can hold".to_owned(),
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

/// A whole number of bytes; an infinite one stands for no limit.
pub(crate) fn bytes(value: &JsValue, name: &str) -> Result<u64> {
    let is_whole = |number: f64| number.is_infinite() || js_sys::Number::is_integer(value);
    match value.as_f64() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(number) if number >= 0.0 && is_whole(number) => Ok(number as u64),
        _ => Err(wrong(name, "a whole number of bytes, 0 or more", value)),
    }
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
            return Err(Error::InvalidArgument {
                name: name.to_owned(),
                expected: format!("an object whose keys are names of variables: {kind}"),
                actual: format!("one with {key:?}"),
            }
            .into());
        }
        // One by one: a collected map would bring the code of a sort.
        variables.insert(key, text);
    }
    Ok(variables)
}

/// The fields of an object of texts, in their order.
pub(crate) fn texts(
    value: &JsValue,
    name: &str,
    read: fn(&JsValue, &str) -> Result<String>,
) -> Result<Vec<(String, String)>> {
    let mut fields = Fields::of(value, name)?;
    let mut texts = Vec::new();
    for key in fields.names() {
        let text = fields.required(&key, read);
        texts.push((key, text));
    }
    fields.error.map_or(Ok(texts), Err)
}

/// Options of a call, which `options!` says how to read.
pub(crate) trait Options: Sized {
    /// The names of its own fields.
    const NAMES: &'static [&'static str];
    /// These, and those of the options that are part of it.
    const ALL_NAMES: &'static [&'static [&'static str]];

    /// Reads the fields.
    fn read_fields(fields: &mut Fields<'_>) -> Self;

    /// Reads options that may be left out; there are no other fields.
    fn read(options: &JsValue) -> Result<Self> {
        let mut fields = Fields::with_names(options, "options", true, Self::ALL_NAMES);
        let read = Self::read_fields(&mut fields);
        fields.error.map_or(Ok(read), Err)
    }

    /// Reads an argument that is an object with no other fields.
    fn read_required(value: &JsValue, name: &str) -> Result<Self> {
        let mut fields = Fields::with_names(value, name, false, Self::ALL_NAMES);
        let read = Self::read_fields(&mut fields);
        fields.error.map_or(Ok(read), Err)
    }
}

/// Defines options: of each its name, its TypeScript type, and the function that reads it. From the doc comments, names
/// and types the TypeScript interface is made, which the module's `.d.ts` has.
///
/// What is read goes to the fields of the `struct` that it makes, or of one that exists (`for`). A field is `required` or
/// `optional`: an `Option`, or the value after `or`.
macro_rules! options {
    (
        $(#[doc = $about:literal])*
        interface $interface:literal
        struct $name:ident {
            $(..$part:ident: $part_type:ty,)*
            $($(#[doc = $doc:literal])*
            $key:literal $typescript:literal =>
                $field:ident: $type:ty = $how:ident $read:ident $(or $default:expr)?,)*
        }
    ) => {
        $(#[doc = $about])*
        struct $name {
            $($part: $part_type,)*
            $($field: $type,)*
        }
        options! { @typescript $interface, [$($about)*], $([$($doc)*] $key $typescript,)* }
        options! { @read $name, [$($part $part_type,)*], $($key $field $how $read [$($default)?],)* }
    };
    (
        $(#[doc = $about:literal])*
        interface $interface:literal
        for $target:ty {
            $($(#[doc = $doc:literal])*
            $key:literal $typescript:literal =>
                $field:ident = $how:ident $read:ident $(or $default:expr)?,)*
        }
    ) => {
        options! { @typescript $interface, [$($about)*], $([$($doc)*] $key $typescript,)* }
        options! { @read $target, [], $($key $field $how $read [$($default)?],)* }
    };
    // TypeScript knows these by another type.
    (
        struct $name:ident {
            $(..$part:ident: $part_type:ty,)*
            $($key:literal => $field:ident: $type:ty = $how:ident $read:ident $(or $default:expr)?,)*
        }
    ) => {
        struct $name {
            $($part: $part_type,)*
            $($field: $type,)*
        }
        options! { @read $name, [$($part $part_type,)*], $($key $field $how $read [$($default)?],)* }
    };
    (
        for $target:ty {
            $($key:literal => $field:ident = $how:ident $read:ident,)*
            $(..$rest:expr)?
        }
    ) => {
        options! { @read $target, [], $($key $field $how $read [],)* $(..$rest)? }
    };
    (@typescript $interface:literal, [$($about:literal)*],
        $([$($doc:literal)*] $key:literal $typescript:literal,)*) => {
        const _: () = {
            #[wasm_bindgen::prelude::wasm_bindgen(typescript_custom_section)]
            const INTERFACE: &str = concat!(
                "\n/**\n", $(" *", $about, "\n",)* " */\n",
                "export interface ", $interface, " {\n",
                $("    /**\n", $("     *", $doc, "\n",)* "     */\n    ", $key, $typescript, ";\n",)*
                "}\n"
            );
        };
    };
    (@read $target:ty, [$($part:ident $part_type:ty,)*],
        $($key:literal $field:ident $how:ident $read:ident [$($default:expr)?],)* $(..$rest:expr)?) => {
        impl crate::arguments::Options for $target {
            const NAMES: &'static [&'static str] = &[$($key),*];
            const ALL_NAMES: &'static [&'static [&'static str]] =
                &[$(<$part_type as crate::arguments::Options>::NAMES,)* Self::NAMES];

            fn read_fields(fields: &mut crate::arguments::Fields<'_>) -> Self {
                Self {
                    $($part: crate::arguments::Options::read_fields(fields),)*
                    $($field: fields.$how($key, $read) $(.unwrap_or($default))?,)*
                    $(..$rest)?
                }
            }
        }
    };
}
pub(crate) use options;

/// The fields of an argument that is an object.
pub(crate) struct Fields<'a> {
    object: Object,
    name: &'a str,
    /// What was wrong first: nothing is read after it. (That each read returned it would be a KB more.)
    error: Option<Box<Error>>,
}

impl<'a> Fields<'a> {
    fn of(value: &JsValue, name: &'a str) -> Result<Self> {
        if !value.is_object() || Array::is_array(value) {
            return Err(wrong(name, "an object", value));
        }
        Ok(Self { object: value.unchecked_ref::<Object>().clone(), name, error: None })
    }

    /// The same. Fields beside these are an error: a misspelt option would otherwise do nothing, silently.
    fn with_names(value: &JsValue, name: &'a str, is_optional: bool, known: &[&[&str]]) -> Self {
        let none = |error| Self { object: Object::new(), name, error };
        if is_optional && value.is_undefined() {
            return none(None);
        }
        let fields = match Self::of(value, name) {
            Ok(fields) => fields,
            Err(error) => return none(Some(error)),
        };
        let known = known.concat();
        match fields.names().into_iter().find(|name| !known.contains(&name.as_str())) {
            None => fields,
            Some(unknown) => none(Some(Box::new(Error::InvalidArgument {
                name: name.to_owned(),
                expected: format!("an object with no other fields than {}", known.join(", ")),
                actual: format!("one with {unknown:?}"),
            }))),
        }
    }

    /// A field that must be there; after an error, any value.
    pub(crate) fn required<T: Default>(
        &mut self,
        key: &str,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> T {
        let value = self.get(key);
        self.read_value(key, value, read).unwrap_or_default()
    }

    /// None where the field is missing or undefined, and after an error.
    pub(crate) fn optional<T>(
        &mut self,
        key: &str,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> Option<T> {
        let value = self.get(key).filter(|value| !value.is_undefined());
        self.read_value(key, value, read)
    }

    fn read_value<T>(
        &mut self,
        key: &str,
        value: Option<JsValue>,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> Option<T> {
        read(&value?, &self.path(key)).map_err(|error| self.error = Some(error)).ok()
    }

    /// None after an error.
    fn get(&mut self, key: &str) -> Option<JsValue> {
        if self.error.is_some() {
            return None;
        }
        // A getter of the caller's may throw.
        let value = Reflect::get(&self.object, &key.into());
        value.map_err(|error| self.error = Some(thrown(error))).ok()
    }

    fn names(&self) -> Vec<String> {
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
