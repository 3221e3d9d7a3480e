use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The last moment that RFC 3339 can name: the end of the year 9999.
const LAST: u64 = 253_402_300_799_999_999;

/// A moment by the wall clock, in microseconds since 1970, as frames have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timestamp(pub(crate) u64);

impl Timestamp {
    pub(crate) fn now() -> Self {
        SystemTime::now().into()
    }

    /// What the timestamp of an event says that was kept as JSON.
    pub(super) fn parse(text: &str) -> Option<Self> {
        humantime::parse_rfc3339(text).ok().map(Self::from)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

/// RFC 3339, UTC, milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Duration::from_micros(self.0.min(LAST));
        humantime::format_rfc3339_millis(UNIX_EPOCH + since).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_read_as_it_is_written() {
        let text = "2026-11-22T18:33:54.007Z";
        assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        assert_eq!(Timestamp(1_234_999).to_string(), "1970-01-01T00:00:01.234Z");
        // As a file may have it that is not ours.
        assert_eq!(Timestamp(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }
}
