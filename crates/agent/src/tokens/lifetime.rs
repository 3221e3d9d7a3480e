use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// The longest life of a token.
pub(crate) const MAX_LIFETIME: Duration = Duration::from_hours(30 * 24);

/// Expiry of a token. The first of two clocks counts: the wall clock goes on while the system is suspended, and the
/// other one can't be set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lifetime {
    pub(super) expires_at: SystemTime,
    deadline: Instant,
}

impl Lifetime {
    pub(super) fn new(lifetime: Duration, now: SystemTime, instant: Instant) -> Self {
        Self { expires_at: now + lifetime, deadline: instant + lifetime }
    }

    /// Returns what is left of it.
    pub(super) fn rest(self, now: SystemTime, instant: Instant) -> Duration {
        let by_wall_clock = self.expires_at.duration_since(now).unwrap_or_default();
        by_wall_clock.min(self.deadline.saturating_duration_since(instant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_expires_by_the_clock_that_is_first() {
        let (now, instant) = (SystemTime::now(), Instant::now());
        let minute = Duration::from_mins(1);
        let lifetime = Lifetime::new(minute, now, instant);
        assert_eq!(lifetime.rest(now, instant), minute);
        assert_eq!(lifetime.rest(now + minute / 4, instant + minute / 2), minute / 2);
        assert_eq!(lifetime.rest(now + minute, instant), Duration::ZERO);
        assert_eq!(lifetime.rest(now - 10 * minute, instant + minute), Duration::ZERO);
        assert_eq!(lifetime.rest(now + 2 * minute, instant + 2 * minute), Duration::ZERO);
    }
}
