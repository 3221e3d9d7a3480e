use std::collections::BTreeMap;
use std::io::Write;

use crate::json_string::escape;

/// What is written as JSON.
pub trait ToJson {
    /// Appends its JSON.
    fn write(&self, json: &mut Vec<u8>);

    /// Whether a field with it is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

/// The JSON of a value.
#[must_use]
pub fn to_string(value: &dyn ToJson) -> String {
    let mut json = Vec::new();
    value.write(&mut json);
    // It is made of whole strings.
    String::from_utf8(json).unwrap_or_default()
}

/// An object of these fields, without those that are absent.
pub struct Object<'a>(pub &'a [(&'a str, &'a dyn ToJson)]);

impl ToJson for Object<'_> {
    fn write(&self, json: &mut Vec<u8>) {
        let present = self.0.iter().filter(|(_, value)| !value.is_absent());
        list(json, *b"{}", present, |json, (name, value)| {
            name.write(json);
            json.push(b':');
            value.write(json);
        });
    }
}

fn list<T>(
    json: &mut Vec<u8>,
    [open, close]: [u8; 2],
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut Vec<u8>, T),
) {
    json.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            json.push(b',');
        }
        write(json, item);
    }
    json.push(close);
}

impl ToJson for bool {
    fn write(&self, json: &mut Vec<u8>) {
        json.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl ToJson for str {
    fn write(&self, json: &mut Vec<u8>) {
        json.push(b'"');
        escape(json, self);
        json.push(b'"');
    }
}

impl ToJson for &str {
    fn write(&self, json: &mut Vec<u8>) {
        (**self).write(json);
    }
}

impl ToJson for String {
    fn write(&self, json: &mut Vec<u8>) {
        self.as_str().write(json);
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {
        $(impl ToJson for $type {
            fn write(&self, json: &mut Vec<u8>) {
                // Writing to memory does not fail.
                let _ok = write!(json, "{self}");
            }
        })*
    };
}

whole_numbers!(i32 u16 u32 u64);

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, json: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(json),
            None => json.extend_from_slice(b"null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, json: &mut Vec<u8>) {
        list(json, *b"[]", self.iter(), |json, item| item.write(json));
    }
}

impl ToJson for BTreeMap<String, String> {
    fn write(&self, json: &mut Vec<u8>) {
        list(json, *b"{}", self.iter(), |json, (name, value)| {
            name.write(json);
            json.push(b':');
            value.write(json);
        });
    }
}
