//! When a stream is connected again after its connection has ended, without a clock.

use super::Backoff;

/// How long a connection has to last, in milliseconds, for the next one to be made at once.
const MIN_LIFETIME_MS: f64 = 1000.0;

/// Counts the connections of one stream that came to nothing, and says how long to wait before the next:
/// not at all after one that lasted, and longer each time where they end at once, so that a server is
/// not flooded with requests.
#[derive(Clone, Copy)]
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
