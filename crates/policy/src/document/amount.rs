use std::{borrow::Cow, fmt, num::NonZeroU64, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes, at least 1: a number, or a text like `"512 MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(NonZeroU64);

/// A duration of at least a millisecond, as a text like `"90 s"`, `"30 min"` or `"1h 30min"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// A number of processors, like 2 or 0.5; kept in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpus(u32);

/// Why a text or a number is no amount of what is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAmount {
    /// It is no size.
    #[error(
        "{0} is not a size: a number of bytes of at least 1, or one with B, KiB, MiB, GiB or TiB, like \"2 GiB\""
    )]
    Size(String),
    /// It is no duration.
    #[error("{0} is not a duration: a number with ms, s, min, h or days, like \"30 min\"")]
    Span(String),
    /// It is no number of processors.
    #[error("{0} is not a number of processors from 0.01 to 1000000, like 2 or 0.5")]
    Cpus(String),
}

impl Size {
    /// None for 0.
    pub fn new(bytes: u64) -> Option<Self> {
        NonZeroU64::new(bytes).map(Self)
    }

    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0.get()
    }
}

const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];

impl FromStr for Size {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text.strip_prefix(digits).unwrap_or_default().trim();
        let shift = match unit {
            "" | "B" => Some(0),
            _ => UNITS.iter().find(|(name, _)| *name == unit).map(|(_, shift)| *shift),
        };
        let count = digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
        let bytes = shift.zip(count).and_then(|(shift, count)| count.checked_mul(1 << shift));
        bytes.and_then(Self::new).ok_or_else(|| InvalidAmount::Size(format!("{text:?}")))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        match UNITS.iter().find(|(_, shift)| bytes.trailing_zeros() >= *shift) {
            Some((unit, shift)) => write!(f, "{} {unit}", bytes >> shift),
            None => write!(f, "{bytes} B"),
        }
    }
}

impl Span {
    /// None for less than a millisecond.
    #[must_use]
    pub fn new(duration: Duration) -> Option<Self> {
        (duration >= Duration::from_millis(1)).then_some(Self(duration))
    }

    /// How long it is.
    #[must_use]
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let duration = humantime::parse_duration(text).ok();
        duration.and_then(Self::new).ok_or_else(|| InvalidAmount::Span(format!("{text:?}")))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl Cpus {
    /// In thousandths of a processor.
    #[must_use]
    pub fn thousandths(self) -> u32 {
        self.0
    }
}

impl TryFrom<f64> for Cpus {
    type Error = InvalidAmount;

    fn try_from(count: f64) -> Result<Self, InvalidAmount> {
        if !(0.01..=1e6).contains(&count) {
            return Err(InvalidAmount::Cpus(count.to_string()));
        }
        // In range, as was just seen.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Self((count * 1000.0).round() as u32))
    }
}

impl FromStr for Cpus {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let count = text.parse::<f64>().map_err(|_| InvalidAmount::Cpus(format!("{text:?}")))?;
        Self::try_from(count)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 1000.0)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Cpus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1000.0)
    }
}

struct SizeVisitor;

impl de::Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size: a number of bytes, or a text like \"2 GiB\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        Size::new(bytes).ok_or_else(|| E::custom(InvalidAmount::Size(bytes.to_string())))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
        let size = u64::try_from(bytes).ok().and_then(Size::new);
        size.ok_or_else(|| E::custom(InvalidAmount::Size(bytes.to_string())))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes, at least 1, or a text like \"512 MiB\".",
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": "^[0-9]+ *(B|KiB|MiB|GiB|TiB)?$" }
            ]
        })
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration, like \"90 s\", \"30 min\" or \"1h 30min\".",
            "type": "string",
            "pattern": "^([0-9]+ *[a-z]+ *)+$"
        })
    }
}

impl JsonSchema for Cpus {
    fn schema_name() -> Cow<'static, str> {
        "Cpus".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of processors, like 2 or 0.5.",
            "type": "number",
            "minimum": 0.01,
            "maximum": 1_000_000
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        for (text, bytes) in [
            ("1", 1),
            ("7 B", 7),
            ("64KiB", 65_536),
            ("512 MiB", 1 << 29),
            ("2 GiB", 1 << 31),
            ("1 TiB", 1 << 40),
        ] {
            let size = text.parse::<Size>().unwrap();
            assert_eq!(size.bytes(), bytes, "{text}");
            assert_eq!(size.to_string().parse::<Size>(), Ok(size));
        }
        for wrong in ["", "0", "-1", "+1", "2 GB", "2 gib", "1.5 GiB", "GiB", "99999999 TiB"] {
            let error = wrong.parse::<Size>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{wrong:?} is not a size")), "{error}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!("30 min".parse::<Span>().unwrap().duration(), Duration::from_mins(30));
        assert_eq!("1h 30min".parse::<Span>().unwrap().duration(), Duration::from_mins(90));
        assert_eq!("1500ms".parse::<Span>().unwrap().to_string(), "1s 500ms");
        for wrong in ["", "30", "0s", "-1h", "half an hour", "1ns"] {
            let error = wrong.parse::<Span>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{wrong:?} is not a duration")), "{error}");
        }
    }

    #[test]
    fn processors_may_be_halves() {
        assert_eq!("0.5".parse::<Cpus>().unwrap().thousandths(), 500);
        assert_eq!("2".parse::<Cpus>().unwrap().to_string(), "2");
        for wrong in ["0", "-1", "NaN", "inf", "two", ""] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
    }
}
