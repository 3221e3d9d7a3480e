//! Regular expressions of the caller's.

use std::rc::Rc;

use js_sys::{Object, Reflect, RegExp};
use sandpipe_client::Result;
use sandpipe_client::background::LineMatcher;
use wasm_bindgen::{JsCast, prelude::*};

use crate::arguments::string;
use crate::invalid_argument::invalid;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = RegExp, extends = Object)]
    type Expression;

    /// Unlike js-sys's, it may throw: a pattern may be none.
    #[wasm_bindgen(constructor, catch, js_class = "RegExp")]
    fn new(pattern: &str) -> std::result::Result<Expression, JsValue>;
}

/// What says whether a line matches the regular expression that is given as a string.
pub(crate) fn matcher(value: &JsValue, name: &str) -> Result<LineMatcher> {
    let pattern = string(value, name)?;
    match Expression::new(&pattern) {
        Ok(expression) => {
            let expression: RegExp = expression.unchecked_into();
            Ok(Rc::new(move |line| expression.test(line)))
        }
        Err(error) => {
            let message = Reflect::get(&error, &"message".into()).unwrap_or_default();
            let actual = format!("{pattern:?}: {}", message.as_string().unwrap_or_default());
            Err(invalid(name, "a regular expression of JavaScript", &actual))
        }
    }
}
