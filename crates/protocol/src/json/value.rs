//! A JSON text as a tree.

use std::borrow::Cow;

use crate::json_string::{hexadecimal, plain_length, unescape};

/// How deep arrays and objects may lie in each other: reading them takes room on the stack.
const MAX_DEPTH: u32 = 128;

/// A JSON value. What need not be copied is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is written.
    Number(&'a str),
    /// A string without its escapes.
    String(Cow<'a, str>),
    /// The elements of an array.
    Array(Vec<Value<'a>>),
    /// The fields of an object, in order, those of one name included.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Reads a text that is one value.
    ///
    /// # Errors
    /// The byte at which it is none.
    pub fn parse(text: &'a str) -> Result<Self, usize> {
        let mut rest = Rest(text);
        let value = rest.value(MAX_DEPTH);
        rest.skip_spaces();
        value.filter(|_| rest.0.is_empty()).ok_or(text.len() - rest.0.len())
    }
}

/// What is still to be read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn value(&mut self, depth: u32) -> Option<Value<'a>> {
        self.skip_spaces();
        Some(match self.0.bytes().next()? {
            b'{' => Value::Object(self.list(*b"{}", depth, Self::field)?),
            b'[' => Value::Array(self.list(*b"[]", depth, Self::value)?),
            b'"' => Value::String(self.string()?),
            b'n' => self.literal("null", Value::Null)?,
            b't' => self.literal("true", Value::Bool(true))?,
            b'f' => self.literal("false", Value::Bool(false))?,
            _ => Value::Number(self.number()?),
        })
    }

    /// What stands between two brackets, apart by commas.
    fn list<T>(
        &mut self,
        [open, close]: [u8; 2],
        depth: u32,
        read: fn(&mut Self, u32) -> Option<T>,
    ) -> Option<Vec<T>> {
        let depth = depth.checked_sub(1)?;
        let mut items = Vec::new();
        self.take(open).then_some(())?;
        self.skip_spaces();
        while !self.take(close) {
            if !items.is_empty() {
                self.take(b',').then_some(())?;
                self.skip_spaces();
            }
            items.push(read(self, depth)?);
            self.skip_spaces();
        }
        Some(items)
    }

    fn field(&mut self, depth: u32) -> Option<(Cow<'a, str>, Value<'a>)> {
        let name = self.string()?;
        self.skip_spaces();
        self.take(b':').then_some(())?;
        Some((name, self.value(depth)?))
    }

    fn literal(&mut self, literal: &str, value: Value<'a>) -> Option<Value<'a>> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(value)
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"').then_some(())?;
        let mut text = Cow::Borrowed("");
        loop {
            let plain = self.split(plain_length(self.0.as_bytes()))?;
            if text.is_empty() {
                text = Cow::Borrowed(plain);
            } else {
                text.to_mut().push_str(plain);
            }
            if self.take(b'"') {
                return Some(text);
            }
            self.take(b'\\').then_some(())?;
            text.to_mut().push(self.escaped()?);
        }
    }

    /// The character that stands behind a backslash.
    fn escaped(&mut self) -> Option<char> {
        if let Some((char, behind)) = unescape(self.0.as_bytes()) {
            self.split(self.0.len() - behind.len())?;
            return Some(char);
        }
        // Two escapes can be the halves of one character.
        let high = self.code_unit()?;
        self.take(b'\\').then_some(())?;
        char::decode_utf16([high, self.code_unit()?]).next()?.ok()
    }

    fn code_unit(&mut self) -> Option<u16> {
        self.take(b'u').then_some(())?;
        let digits = hexadecimal(*self.0.as_bytes().first_chunk()?)?;
        self.split(4)?;
        digits.try_into().ok()
    }

    fn number(&mut self) -> Option<&'a str> {
        let start = self.0;
        self.take(b'-');
        // No other digit follows a zero at the beginning.
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        start.get(..start.len() - self.0.len())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let rest = self.0.trim_start_matches(|char: char| char.is_ascii_digit());
        let some = rest.len() < self.0.len();
        self.0 = rest;
        some.then_some(())
    }

    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\n', '\r', '\t']);
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.0.bytes().next() == Some(byte);
        found && self.split(1).is_some()
    }

    /// Takes so many bytes, if they are whole characters.
    fn split(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `serde_json` says that it is, if every number is whole.
    fn plainly(value: &Value<'_>) -> Option<serde_json::Value> {
        Some(match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(bool) => (*bool).into(),
            Value::Number(text) => serde_json::from_str(text).ok()?,
            Value::String(text) => text.to_string().into(),
            Value::Array(items) => items.iter().map(plainly).collect::<Option<Vec<_>>>()?.into(),
            Value::Object(fields) => {
                let fields =
                    fields.iter().map(|(name, value)| Some((name.to_string(), plainly(value)?)));
                fields.collect::<Option<serde_json::Map<_, _>>>()?.into()
            }
        })
    }

    fn both(text: &str) -> (Option<serde_json::Value>, Option<serde_json::Value>) {
        (Value::parse(text).ok().and_then(|value| plainly(&value)), serde_json::from_str(text).ok())
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::hash_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_reads_what_serde_writes(json in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
            let (ours, serdes) = both(&text.unwrap());
            prop_assert!(serdes.is_some());
            prop_assert_eq!(ours, serdes);
        }

        #[test]
        fn it_reads_and_refuses_what_serde_does(
            text in r#"([ \n]|[\[\]{},:]|"|\\|"a"|"\\[nu"]|\\u[dD][89a-f]00|\\u00e9|-?[01]|[.eE+]|null|true|é|\x01){0,12}"#,
        ) {
            let (ours, serdes) = both(&text);
            prop_assert_eq!(ours, serdes, "{}", text);
        }
    }

    #[test]
    fn numbers_are_written_as_serde_demands() {
        // Longer ones can be out of serde's range, which is no matter of how they are written.
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            for text in &texts {
                let serdes = serde_json::from_str::<serde_json::Value>(text);
                assert_eq!(Value::parse(text).is_ok(), serdes.is_ok(), "{text}");
            }
            let longer = |text: &String| {
                "-+.eE01".chars().map(|char| format!("{text}{char}")).collect::<Vec<_>>()
            };
            texts = texts.iter().flat_map(longer).collect();
        }
    }

    #[test]
    fn what_lies_too_deep_is_refused() {
        for (depth, is_read) in [(127, true), (128, true), (129, false), (1_000_000, false)] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(Value::parse(&text).is_ok(), is_read, "{depth}");
        }
    }

    #[test]
    fn the_wrong_byte_is_told() {
        assert_eq!(Value::parse(r#"{"a":1,}"#), Err(7));
        assert_eq!(Value::parse("[1] 2"), Err(4));
        assert_eq!(Value::parse(""), Err(0));
    }
}
