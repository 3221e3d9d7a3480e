//! What is said of a wrong argument.

use sandpipe_client::Error;
use wasm_bindgen::prelude::*;

use crate::shim::shim;

/// An argument has this name and ought to be something else than it is.
pub(crate) fn invalid(name: &str, expected: &str, actual: &str) -> Box<Error> {
    let (name, expected, actual) = (name.to_owned(), expected.to_owned(), actual.to_owned());
    Box::new(Error::InvalidArgument { name, expected, actual })
}

/// The same, of a value that is shown.
pub(crate) fn wrong(name: &str, expected: &str, value: &JsValue) -> Box<Error> {
    invalid(name, expected, &shim().describe(value).unwrap_or_default())
}
