//! What describes a class of errors.

use crate::HostOutput;

/// A class of errors.
#[derive(Debug)]
pub struct ErrorClass {
    /// The name of the class in JavaScript.
    pub class: &'static str,
    /// The `name` of its errors.
    pub name: &'static str,
    /// The `code` of its errors.
    pub code: &'static str,
    /// Another code, and the condition (TypeScript) under which they have that.
    pub other_code: Option<(&'static str, &'static str)>,
    /// The lines of its documentation.
    pub docs: &'static [&'static str],
    /// What its errors have beside message, hint and cause.
    pub fields: &'static [ErrorField],
}

/// A field of a class of errors.
#[derive(Debug)]
pub struct ErrorField {
    /// The name of the field.
    pub name: &'static str,
    /// The lines of its documentation.
    pub docs: &'static [&'static str],
    /// Its type in TypeScript.
    pub typescript: &'static str,
    /// Whether it may be missing.
    pub is_optional: bool,
}

#[derive(Debug)]
/// The value of a field of one error.
pub enum Detail<'a> {
    /// A string.
    Text(&'a str),
    /// A number.
    Number(f64),
    /// A boolean.
    Bool(bool),
    /// Output, which the host keeps.
    Output(&'a HostOutput),
}

/// What is called with the name and the value of each field.
pub(super) type Visit<'v> = dyn FnMut(&'static str, Detail<'_>) + 'v;

/// Output that is text whatever was asked for.
#[derive(Debug)]
pub(super) struct OutputText<'a>(pub(super) &'a HostOutput);

/// A type of fields.
pub(super) trait FieldType {
    /// In TypeScript.
    const TYPESCRIPT: &'static str;
    /// Whether there may be none.
    const IS_OPTIONAL: bool = false;
    /// None where the field is left out.
    fn detail(&self) -> Option<Detail<'_>>;
}

macro_rules! field_types {
    ($($type:ty: $typescript:literal, $value:ident => $detail:expr;)*) => {
        $(impl FieldType for $type {
            const TYPESCRIPT: &'static str = $typescript;

            fn detail(&self) -> Option<Detail<'_>> {
                let $value = self;
                Some($detail)
            }
        })*
    };
}

field_types! {
    &str: "string", text => Detail::Text(text);
    OutputText<'_>: "string", output => Detail::Output(output.0);
    // As it was asked for, which nobody knows who catches an error.
    &HostOutput: "string | Uint8Array", output => Detail::Output(output);
    f64: "number", number => Detail::Number(*number);
    bool: "boolean", value => Detail::Bool(*value);
}

impl<T: FieldType> FieldType for Option<T> {
    const TYPESCRIPT: &'static str = T::TYPESCRIPT;
    const IS_OPTIONAL: bool = true;

    fn detail(&self) -> Option<Detail<'_>> {
        self.as_ref()?.detail()
    }
}

/// Each class is a struct of its fields, which an error of it is described by, and an entry of `CLASSES`.
macro_rules! error_classes {
    ($(
        $(#[doc = $docs:literal])*
        $class:ident $(<$life:lifetime>)? $(named $name:literal)? = $code:literal $(or $other:literal if $test:literal)? {
            $($(#[doc = $field_docs:literal])* $field:ident: $type:ty,)*
        }
    )*) => {
        /// All of them.
        pub const CLASSES: &[ErrorClass] = &[$($class::CLASS),*];

        $(
            $(#[doc = $docs])*
            #[allow(non_snake_case)] // As in JavaScript.
            #[derive(Debug)]
            pub(super) struct $class $(<$life>)? {
                $($(#[doc = $field_docs])* pub $field: $type,)*
            }

            impl $(<$life>)? $class $(<$life>)? {
                const CLASS: ErrorClass = ErrorClass {
                    class: stringify!($class),
                    name: [$($name,)? stringify!($class)][0],
                    code: $code,
                    other_code: [$(Some(($other, $test)),)? None][0],
                    docs: &[$($docs),*],
                    fields: &[$(ErrorField {
                        name: stringify!($field),
                        docs: &[$($field_docs),*],
                        typescript: <$type as FieldType>::TYPESCRIPT,
                        is_optional: <$type as FieldType>::IS_OPTIONAL,
                    }),*],
                };

                /// Visits the fields, and returns the name of the class.
                #[allow(dead_code, unused_variables)] // Some are TypeScript's alone, some have no field.
                pub(super) fn visit(self, visit: &mut Visit<'_>) -> &'static str {
                    $(if let Some(detail) = self.$field.detail() {
                        visit(stringify!($field), detail);
                    })*
                    stringify!($class)
                }
            }
        )*
    };
}

pub(super) use error_classes;
