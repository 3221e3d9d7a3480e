//! What is said of a wrong argument.

use js_sys::Array;
use sandpipe_client::Error;
use wasm_bindgen::{JsCast, prelude::*};

/// An argument has this name and ought to be something else than it is.
pub(crate) fn invalid(name: &str, expected: &str, actual: &str) -> Box<Error> {
    let (name, expected, actual) = (name.to_owned(), expected.to_owned(), actual.to_owned());
    Box::new(Error::InvalidArgument { name, expected, actual })
}

/// The same, of a value that is shown.
pub(crate) fn wrong(name: &str, expected: &str, value: &JsValue) -> Box<Error> {
    invalid(name, expected, &describe(value))
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
