use super::Value;

/// What is read from JSON.
pub trait FromJson: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// The value is of another kind, or lacks a field.
    fn from_json(value: &Value<'_>) -> Result<Self, Problem>;

    /// What a field stands for that is missing; None where it may not be.
    #[must_use]
    fn missing() -> Option<Self> {
        None
    }
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(String);

impl Problem {
    pub(crate) fn expected(what: &str) -> Self {
        Self(format!("{what} was expected"))
    }

    fn of(self, name: &str) -> Self {
        Self(format!("`{name}`: {}", self.0))
    }

    /// A field with a value that stands for nothing.
    pub(crate) fn unknown(name: &str, value: &str) -> Self {
        Self(format!("`{name}`: {value:?} is not known"))
    }
}

/// Reads a text.
///
/// # Errors
/// It is not JSON, or not what was expected.
pub fn read<T: FromJson>(text: &[u8]) -> Result<T, Problem> {
    T::from_json(&parse(text)?)
}

fn parse(text: &[u8]) -> Result<Value<'_>, Problem> {
    let text = std::str::from_utf8(text).map_err(|error| Problem(format!("not UTF-8: {error}")))?;
    Value::parse(text).map_err(|at| Problem(format!("not JSON from byte {at} on")))
}

impl Value<'_> {
    /// A field of an object; fields that nobody asks for don't matter.
    ///
    /// # Errors
    /// It is no object, or the field is missing, twice there, or of another kind.
    // Its callers call it for each of their fields, and are to be small.
    #[inline(never)]
    pub fn field<T: FromJson>(&self, name: &str) -> Result<T, Problem> {
        let read = match self.find(name)? {
            Some(value) => T::from_json(value),
            None => T::missing().ok_or_else(|| Problem("it is missing".to_owned())),
        };
        read.map_err(|problem| problem.of(name))
    }

    /// A field of an object, if it is there.
    ///
    /// # Errors
    /// It is no object, or the field is there twice.
    #[inline(never)]
    pub fn find(&self, name: &str) -> Result<Option<&Self>, Problem> {
        let Self::Object(fields) = self else {
            return Err(Problem::expected("an object"));
        };
        let mut found = fields.iter().filter(|(key, _)| key == name).map(|(_, value)| value);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Problem("it is there twice".to_owned()).of(name)),
            (value, None) => Ok(value),
        }
    }
}

impl FromJson for bool {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        match value {
            Value::Bool(bool) => Ok(*bool),
            _ => Err(Problem::expected("true or false")),
        }
    }
}

impl FromJson for String {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        match value {
            Value::String(text) => Ok(text.clone().into_owned()),
            _ => Err(Problem::expected("a string")),
        }
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {
        $(impl FromJson for $type {
            fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
                match value {
                    Value::Number(text) => text.parse().ok(),
                    _ => None,
                }
                .ok_or_else(|| {
                    Problem(format!("a whole number from {} to {} was expected", Self::MIN, Self::MAX))
                })
            }
        })*
    };
}

whole_numbers!(i32 u16 u32 u64);

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        match value {
            Value::Null => Ok(None),
            value => T::from_json(value).map(Some),
        }
    }

    fn missing() -> Option<Self> {
        Some(None)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        match value {
            Value::Array(items) => items.iter().map(T::from_json).collect(),
            _ => Err(Problem::expected("an array")),
        }
    }
}
