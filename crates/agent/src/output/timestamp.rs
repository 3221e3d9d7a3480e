use std::time::{SystemTime, UNIX_EPOCH};

use sandpipe_protocol::Timestamp;

/// The time now, as frames have it.
pub(crate) fn now() -> Timestamp {
    of(SystemTime::now())
}

/// What the timestamp of an event says that was kept as JSON, in microseconds since 1970.
pub(super) fn parse(text: &str) -> Option<u64> {
    humantime::parse_rfc3339(text).ok().map(|time| of(time).0)
}

fn of(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_read_as_it_is_written() {
        let text = "2026-11-22T18:33:54.007Z";
        assert_eq!(Timestamp(parse(text).unwrap()).to_string(), text);
    }
}
