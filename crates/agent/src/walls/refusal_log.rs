//! How often refusals are logged: a command can have itself refused as fast as it likes.

use std::time::{Duration, Instant};

/// Most lines that are logged in a minute.
const MOST: u32 = 20;
const WINDOW: Duration = Duration::from_mins(1);

/// Counts refusals.
#[derive(Debug, Default)]
pub(super) struct RefusalLog {
    begun: Option<Instant>,
    logged: u32,
    left_out: u64,
}

impl RefusalLog {
    /// Counts one, and returns whether it is to be logged: with how many before it were not.
    pub(super) fn take(&mut self, now: Instant) -> Option<u64> {
        let is_over = self.begun.is_none_or(|begun| now.duration_since(begun) >= WINDOW);
        if is_over {
            self.begun = Some(now);
            self.logged = 0;
        }
        if self.logged >= MOST {
            self.left_out += 1;
            return None;
        }
        self.logged += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_so_many_a_minute_and_says_how_many_it_left_out() {
        let start = Instant::now();
        let mut log = RefusalLog::default();
        let logged = (0..1000).filter(|_| log.take(start) == Some(0)).count();
        assert_eq!(logged, 20);
        assert_eq!(log.take(start + WINDOW / 2), None);
        assert_eq!(log.take(start + WINDOW), Some(981));
        assert_eq!(log.take(start + WINDOW), Some(0));
    }
}
