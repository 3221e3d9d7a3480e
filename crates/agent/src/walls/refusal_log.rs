//! How often refusals are logged: a command can have itself refused as fast as it likes.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

/// Most destinations that are logged in a minute, each once.
const MOST: usize = 20;
const WINDOW: Duration = Duration::from_mins(1);

/// Counts refusals.
#[derive(Debug, Default)]
pub(super) struct RefusalLog {
    begun: Option<Instant>,
    logged: HashSet<String>,
    left_out: u64,
}

impl RefusalLog {
    /// Counts one, and returns whether it is to be logged: with how many before it were not.
    pub(super) fn take(&mut self, destination: String, now: Instant) -> Option<u64> {
        let is_over = self.begun.is_none_or(|begun| now.duration_since(begun) >= WINDOW);
        if is_over {
            self.begun = Some(now);
            self.logged.clear();
        }
        if self.logged.len() >= MOST || !self.logged.insert(destination) {
            self.left_out += 1;
            return None;
        }
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_so_many_destinations_a_minute_and_says_how_many_refusals_it_left_out() {
        let start = Instant::now();
        let mut log = RefusalLog::default();
        let mut take = |number: u32, now| log.take(format!("{number}.example:443"), now);
        assert_eq!(take(0, start), Some(0));
        assert_eq!((0..100).filter_map(|_| take(0, start)).count(), 0);
        assert_eq!((0..1000).filter_map(|number| take(number, start)).count(), 19);
        assert_eq!(take(0, start + WINDOW / 2), None);
        assert_eq!(take(0, start + WINDOW), Some(981));
        assert_eq!(take(1, start + WINDOW), Some(0));
    }
}
