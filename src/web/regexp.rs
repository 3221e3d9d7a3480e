//! Regular expressions of the caller's.

use std::rc::Rc;

use js_sys::{Object, Reflect, RegExp};
use sandpipe_client::background::LineMatcher;
use sandpipe_client::{Error, Result};
use wasm_bindgen::{JsCast, prelude::*};

use crate::arguments::string;

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
        Err(error) => Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: "a regular expression of JavaScript".to_owned(),
            actual: format!("{pattern:?}: {}", message(&error)),
        }
        .into()),
    }
}

fn message(error: &JsValue) -> String {
    let message = Reflect::get(error, &"message".into()).ok();
    message.and_then(|message| message.as_string()).unwrap_or_default()
}
