//! JSON (RFC 8259) for a client that is downloaded: what is here is a tenth of what `serde` makes of the
//! same types.
//!
//! What output flows through does not come by: [`OutputEvent`](crate::OutputEvent) reads that.

mod read;
mod value;
mod write;

pub use read::{FromJson, Problem, read};
pub use value::Value;
pub use write::{Object, ToJson, to_string};

/// Reads or writes a struct, or both, as an object of these fields, with these names. One that is an
/// `Option` may be missing or null, and is left out where it is None.
#[macro_export]
macro_rules! json_object {
    (FromJson + ToJson for $type:ident $fields:tt) => {
        $crate::json::json_object!(FromJson for $type $fields);
        $crate::json::json_object!(ToJson for $type $fields);
    };
    (FromJson for $type:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::json::FromJson for $type {
            fn from_json(
                value: &$crate::json::Value<'_>,
            ) -> Result<Self, $crate::json::Problem> {
                Ok(Self { $($field: value.field($name)?),* })
            }
        }
    };
    (ToJson for $type:ident { $($field:ident: $name:literal),* $(,)? }) => {
        impl $crate::json::ToJson for $type {
            fn write(&self, json: &mut Vec<u8>) {
                $crate::json::Object(&[$(($name, &self.$field)),*]).write(json);
            }
        }
    };
}

pub use json_object;
