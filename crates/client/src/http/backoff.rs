//! How long to wait before a request is made again, without a clock.

/// How often something is tried, and how long the pauses between are: `retry` of `connect()`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// How often something is tried in all. At least 1.
    pub max_attempts: u32,
    /// The pause after the first failure, in milliseconds; it doubles with each further one.
    pub base_delay_ms: f64,
    /// The longest pause, in milliseconds.
    pub max_delay_ms: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { max_attempts: 3, base_delay_ms: 500.0, max_delay_ms: 30_000.0 }
    }
}

impl Backoff {
    /// The pause in milliseconds after so many failures in a row, at least one.
    ///
    /// Half of it is left to chance (`random`, from 0 to 1): clients that failed together do not
    /// come back together. A server that named a time (`Retry-After`) has it; one that names more than
    /// `max_delay_ms` is not asked again.
    pub fn delay(&self, failures: u32, random: f64, retry_after_ms: Option<f64>) -> f64 {
        if let Some(retry_after) = retry_after_ms {
            return retry_after;
        }
        let doublings = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let full = (self.base_delay_ms * 2_f64.powi(doublings.min(64))).min(self.max_delay_ms);
        full / 2.0 + full / 2.0 * random
    }
}

/// Whether a request that may be repeated is worth repeating after an answer of this status: 408
/// (RFC 9110, 15.5.9), 429 (RFC 6585, 4) and what a gateway says of an agent that is away.
pub(super) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

#[cfg(test)]
// The pauses are made of numbers that a double holds exactly.
#[allow(clippy::float_cmp)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_pause_doubles_up_to_the_longest() {
        let backoff = Backoff::default();
        let pauses: Vec<f64> = (1..10).map(|failures| backoff.delay(failures, 1.0, None)).collect();
        assert_eq!(pauses, [500.0, 1e3, 2e3, 4e3, 8e3, 16e3, 30e3, 30e3, 30e3]);
    }

    #[test]
    fn a_server_that_names_a_time_has_it() {
        assert_eq!(Backoff::default().delay(1, 0.3, Some(120_000.0)), 120_000.0);
        assert_eq!(Backoff::default().delay(5, 0.3, Some(0.0)), 0.0);
    }

    proptest! {
        #[test]
        fn the_pause_is_at_least_half_and_never_over_the_longest(
            failures in 1_u32..,
            random in 0.0..1.0,
            base_delay_ms in 0.0..1e6,
            max_delay_ms in 0.0..1e6,
        ) {
            let backoff = Backoff { max_attempts: 3, base_delay_ms, max_delay_ms };
            let full = backoff.delay(failures, 1.0, None);
            let delay = backoff.delay(failures, random, None);
            prop_assert!(full <= max_delay_ms);
            prop_assert!((full / 2.0..=full).contains(&delay));
        }
    }
}
