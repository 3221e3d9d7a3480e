use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// A moment by the wall clock, in milliseconds since 1970: what outlives the agent can't be told by another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Time(u64);

impl Time {
    pub(super) fn now() -> Self {
        SystemTime::now().into()
    }

    /// What a timestamp of a record says.
    pub(super) fn parse(text: &str) -> Option<Self> {
        humantime::parse_rfc3339(text).ok().map(Self::from)
    }

    /// How long ago this was; nothing where it is still to come, as after the clock was set back.
    pub(super) fn age(self, now: Self) -> Duration {
        Duration::from_millis(now.0.saturating_sub(self.0))
    }
}

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// As the timestamps of output are written: RFC 3339, UTC, milliseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(self.0)).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_read_as_it_is_written() {
        let text = "2026-11-22T18:33:54.007Z";
        let time = Time::parse(text).unwrap();
        assert_eq!(time.to_string(), text);
        let later = Time::parse("2026-11-22T18:34:54.007Z").unwrap();
        assert_eq!(time.age(later), Duration::from_mins(1));
        assert_eq!(later.age(time), Duration::ZERO);
        assert_eq!(Time::parse("yesterday"), None);
    }
}
