//! When a stream is connected again after its connection has ended, without a clock.

use super::Backoff;

/// How long a connection has to last, in milliseconds, for the next one to be made at once.
const MIN_LIFETIME_MS: f64 = 1000.0;

/// Counts the connections of one stream that came to nothing, and says how long to wait before the next:
/// not at all after one that lasted, and longer each time where they end at once, so that a server is
/// not flooded with requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReconnectBackoff {
    /// How long the pauses are.
    pub(crate) backoff: Backoff,
    /// How many in a row have come to nothing.
    in_a_row: u32,
}

/// What comes before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pause {
    /// The attempt that failed: 1 for the first after a connection that lasted.
    pub(crate) attempt: u32,
    /// How long to wait, in milliseconds.
    pub(crate) delay_ms: f64,
}

impl ReconnectBackoff {
    /// No connection has come to nothing yet.
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { backoff, in_a_row: 0 }
    }

    /// The connection brought something new.
    pub(crate) fn on_progress(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether a connection that was open for so many milliseconds was more than an attempt.
    pub(crate) fn was_stable(lasted_ms: f64) -> bool {
        lasted_ms >= MIN_LIFETIME_MS
    }

    /// A connection has ended that was open for so many milliseconds, 0 where it was refused; or what
    /// was to be asked before the next one could not be.
    ///
    /// The first time there is no pause: a proxy that ends long streams is no reason to wait. A time
    /// that the server names can only make it longer: where it is 0, the server would be flooded.
    pub(crate) fn pause(
        &mut self,
        lasted_ms: f64,
        random: f64,
        retry_after_ms: Option<f64>,
    ) -> Pause {
        if Self::was_stable(lasted_ms) {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        let own_ms = match self.in_a_row {
            1 => 0.0,
            in_a_row => self.backoff.delay(in_a_row - 1, random, None),
        };
        Pause { attempt: self.in_a_row, delay_ms: own_ms.max(retry_after_ms.unwrap_or(0.0)) }
    }
}

#[cfg(test)]
// The pauses are made of numbers that a double holds exactly.
#[allow(clippy::float_cmp)]
mod tests {
    use super::*;

    fn delays(reconnects: &mut ReconnectBackoff, lasted_ms: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| reconnects.pause(lasted_ms, 1.0, None).delay_ms).collect()
    }

    #[test]
    fn the_pause_grows_up_to_the_longest_where_connections_end_at_once() {
        let mut reconnects = ReconnectBackoff::new(Backoff::default());
        assert_eq!(
            delays(&mut reconnects, 999.0, 10),
            [0.0, 500.0, 1e3, 2e3, 4e3, 8e3, 16e3, 30e3, 30e3, 30e3]
        );
    }

    #[test]
    fn there_is_no_pause_after_a_connection_that_lasted_or_brought_something() {
        let mut reconnects = ReconnectBackoff::new(Backoff::default());
        assert_eq!(delays(&mut reconnects, 1000.0, 100), [0.0; 100]);
        delays(&mut reconnects, 0.0, 5);
        assert_eq!(delays(&mut reconnects, 1000.0, 1), [0.0]);
        delays(&mut reconnects, 0.0, 5);
        reconnects.on_progress();
        assert_eq!(delays(&mut reconnects, 0.0, 2), [0.0, 500.0]);
    }

    #[test]
    fn a_pause_that_the_server_names_is_kept() {
        let mut reconnects = ReconnectBackoff::new(Backoff::default());
        let pause = reconnects.pause(0.0, 1.0, Some(7000.0));
        assert_eq!(pause, Pause { attempt: 1, delay_ms: 7000.0 });
    }

    #[test]
    fn a_server_that_names_no_pause_is_not_flooded() {
        let mut reconnects = ReconnectBackoff::new(Backoff::default());
        let delays: Vec<_> =
            (0..5).map(|_| reconnects.pause(0.0, 1.0, Some(0.0)).delay_ms).collect();
        assert_eq!(delays, [0.0, 500.0, 1e3, 2e3, 4e3]);
    }
}
