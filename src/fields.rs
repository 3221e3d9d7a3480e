//! Reading arguments that are objects, such as options.

use js_sys::{Array, Object, Reflect};
use sandpipe_client::{Error, Result};
use wasm_bindgen::{JsCast, prelude::*};

use crate::invalid_argument::{invalid, wrong};
use crate::shim::shim;
use crate::web::value::thrown;

/// An argument that is an object: `options!` says how to read it.
pub(crate) trait Options: Sized {
    /// Reads the fields.
    fn read_fields(fields: &mut Fields<'_>) -> Self;

    /// Reads options that may be left out.
    fn read(options: &JsValue) -> Result<Self> {
        read(Fields::of_options(options)?, Self::read_fields)
    }

    /// Reads an argument that must be there.
    fn read_required(value: &JsValue, name: &str) -> Result<Self> {
        read(Fields::of(value, name)?, Self::read_fields)
    }
}

/// Reads options of which there is this one alone.
pub(crate) fn only_option<T>(
    options: &JsValue,
    key: &'static str,
    read: fn(&JsValue, &str) -> Result<T>,
) -> Result<Option<T>> {
    self::read(Fields::of_options(options)?, |fields| fields.optional(key, read))
}

fn read<T>(mut fields: Fields<'_>, read: impl FnOnce(&mut Fields<'_>) -> T) -> Result<T> {
    let value = read(&mut fields);
    fields.end()?;
    Ok(value)
}

/// Defines options: of each its name, its TypeScript type, and the function that reads it. From the doc comments, names
/// and types the TypeScript interface is made, which the module's `.d.ts` has; without one TypeScript knows them by
/// another type.
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
        options! {
            $(#[doc = $about])*
            interface $interface
            for $name {
                $(..$part,)*
                $($(#[doc = $doc])* $key $typescript => $field = $how $read $(or $default)?,)*
            }
        }
    };
    (
        $(#[doc = $about:literal])*
        interface $interface:literal
        for $target:ty {
            $(..$part:ident,)*
            $($(#[doc = $doc:literal])*
            $key:literal $typescript:literal =>
                $field:ident = $how:ident $read:ident $(or $default:expr)?,)*
        }
    ) => {
        const _: () = {
            #[wasm_bindgen::prelude::wasm_bindgen(typescript_custom_section)]
            const INTERFACE: &str = concat!(
                "\n/**\n", $(" *", $about, "\n",)* " */\n",
                "export interface ", $interface, " {\n",
                $("    /**\n", $("     *", $doc, "\n",)* "     */\n    ", $key, $typescript, ";\n",)*
                "}\n"
            );
        };
        options! { for $target { $(..$part,)* $($key => $field = $how $read $(or $default)?,)* } }
    };
    (
        for $target:ty {
            $(..$part:ident,)*
            $($key:literal => $field:ident = $how:ident $read:ident $(or $default:expr)?,)*
        }
    ) => {
        impl crate::fields::Options for $target {
            fn read_fields(fields: &mut crate::fields::Fields<'_>) -> Self {
                Self {
                    $($part: crate::fields::Options::read_fields(fields),)*
                    $($field: fields.$how($key, $read) $(.unwrap_or($default))?,)*
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
    /// The names of those that have been asked for.
    known: Vec<&'static str>,
    /// What was wrong first: nothing is read after it. (That each read returned it would be a KB more.)
    error: Option<Box<Error>>,
}

impl<'a> Fields<'a> {
    fn of(value: &JsValue, name: &'a str) -> Result<Self> {
        if !value.is_object() || Array::is_array(value) {
            return Err(wrong(name, "an object", value));
        }
        let object = value.unchecked_ref::<Object>().clone();
        Ok(Self { object, name, known: Vec::new(), error: None })
    }

    fn of_options(options: &JsValue) -> Result<Self> {
        let none = Object::new();
        Self::of(if options.is_undefined() { &none } else { options }, "options")
    }

    /// A field that must be there; after an error, any value.
    pub(crate) fn required<T: Default>(
        &mut self,
        key: &'static str,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> T {
        let value = self.ask_for(key);
        self.read(key, value, read).unwrap_or_default()
    }

    /// None where the field is missing or undefined, and after an error.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> Option<T> {
        let value = self.ask_for(key).filter(|value| !value.is_undefined());
        self.read(key, value, read)
    }

    fn read<T>(
        &mut self,
        key: &str,
        value: Option<JsValue>,
        read: fn(&JsValue, &str) -> Result<T>,
    ) -> Option<T> {
        read(&value?, &self.path(key)).map_err(|error| self.error = Some(error)).ok()
    }

    fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    fn ask_for(&mut self, key: &'static str) -> Option<JsValue> {
        self.known.push(key);
        self.get(key)
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

    /// What was wrong. Fields that were not asked for are: a misspelt option would otherwise do nothing, silently.
    fn end(self) -> Result<()> {
        let is_unknown = |name: &String| !self.known.contains(&name.as_str());
        match self.names().into_iter().find(is_unknown) {
            None => self.error.map_or(Ok(()), Err),
            Some(unknown) => {
                let expected =
                    format!("an object with no other fields than {}", self.known.join(", "));
                let known = self.known.into_iter().map(str::to_owned).collect();
                let meant = shim().suggest(&unknown, known).unwrap_or_default();
                Err(invalid(self.name, &expected, &format!("one with {unknown:?}{meant}")))
            }
        }
    }
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
        let value = fields.get(&key);
        let text = fields.read(&key, value, read).unwrap_or_default();
        texts.push((key, text));
    }
    fields.error.map_or(Ok(texts), Err)
}
