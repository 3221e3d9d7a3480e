//! Regular expressions of the caller's.

use std::rc::Rc;

use js_sys::{Array, Function, JsString, Object, Reflect, RegExp};
use sandpipe_client::background::LineMatcher;
use sandpipe_client::output::{Match, Pattern, TextMatcher};
use sandpipe_client::{HostValue, Result};
use wasm_bindgen::{JsCast, prelude::*};

use crate::arguments::string;
use crate::invalid_argument::{invalid, wrong};
use crate::web::value::thrown;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = RegExp, extends = Object)]
    type Expression;

    /// Unlike js-sys's, it may throw: a pattern may be none.
    #[wasm_bindgen(constructor, catch, js_class = "RegExp")]
    fn new(pattern: &str, flags: &str) -> std::result::Result<Expression, JsValue>;

    /// Unlike js-sys's, it may throw: an engine may run out of stack.
    #[wasm_bindgen(method, catch)]
    fn exec(this: &Expression, text: &str) -> std::result::Result<Option<Array>, JsValue>;

    #[wasm_bindgen(method, setter, js_name = lastIndex)]
    fn set_last_index(this: &Expression, index: u32);
}

/// What says whether a line matches the regular expression that is given as a string.
pub(crate) fn matcher(value: &JsValue, name: &str) -> Result<LineMatcher> {
    let pattern = string(value, name)?;
    match Expression::new(&pattern, "") {
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

/// What is looked for in an output: a text, or what a `RegExp` finds.
pub(crate) fn pattern(value: &JsValue, name: &str) -> Result<Pattern> {
    if value.is_string() {
        let text = string(value, name)?;
        if text.is_empty() {
            return Err(wrong(name, "a text that is not empty, or a RegExp", value));
        }
        return Ok(Pattern::Text(text.into()));
    }
    match OutputExpression::of(value) {
        Some(expression) => Ok(Pattern::Expression(Rc::new(expression?))),
        None => Err(wrong(name, "a string or a RegExp", value)),
    }
}

/// A copy of the caller's `RegExp`, which is left as it is.
struct OutputExpression {
    expression: Expression,
    source: String,
}

impl OutputExpression {
    /// None of what is no `RegExp`. It is known by its fields: another realm's is none of this one's class.
    fn of(value: &JsValue) -> Option<Result<Self>> {
        let field = |name: &str| Reflect::get(value, &name.into()).ok();
        let is_expression = value.is_object() && field("exec")?.is_instance_of::<Function>();
        let (source, flags) = (field("source")?.as_string()?, field("flags")?.as_string()?);
        // `g` lets it begin where it is told to; `y` would have it find nothing that is further on.
        let own_flags = flags.replace(['g', 'y'], "") + "g";
        let expression = Expression::new(&source, &own_flags).map_err(thrown);
        is_expression
            .then(|| Ok(Self { expression: expression?, source: format!("/{source}/{flags}") }))
    }
}

impl TextMatcher for OutputExpression {
    fn find(&self, text: &str, from: usize) -> Result<Option<Match>> {
        let before = text.get(..from).unwrap_or_default();
        let start = before.encode_utf16().count();
        self.expression.set_last_index(u32::try_from(start).unwrap_or(u32::MAX));
        let Some(found) = self.expression.exec(text).map_err(thrown)? else {
            return Ok(None);
        };
        let index = Reflect::get(&found, &"index".into()).map_err(thrown)?.as_f64();
        let whole: JsString = found.get(0).unchecked_into();
        // Exact: no text is so long.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let end = index.unwrap_or(0.0) as usize + whole.length() as usize;
        Ok(Some(Match { value: HostValue::new(JsValue::from(found)), end: utf8_place(text, end) }))
    }

    fn source(&self) -> String {
        self.source.clone()
    }
}

/// Where a text has a place that is counted in UTF-16 code units, in bytes. Within a character it is behind it.
fn utf8_place(text: &str, units: usize) -> usize {
    let mut left = units;
    let mut bytes = 0;
    for character in text.chars() {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(character.len_utf16());
        bytes += character.len_utf8();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters_of_any_length() {
        let text = "aé€😀b";
        for (index, (place, _)) in text.char_indices().enumerate() {
            let units = text.chars().take(index).map(char::len_utf16).sum();
            assert_eq!(utf8_place(text, units), place);
        }
        assert_eq!(utf8_place(text, 4), "aé€😀".len());
        assert_eq!(utf8_place(text, 99), text.len());
    }
}
