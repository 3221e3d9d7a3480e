//! Which of the execs that have ended are to go. It decides, and does no I/O.

use std::{collections::BTreeMap, time::Duration};

use super::time::Time;

/// How much is kept of the execs that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The most execs, at least 1.
    pub(crate) execs: usize,
    /// How long each.
    pub(crate) age: Duration,
    /// The most bytes on disk of all together.
    pub(crate) bytes: u64,
}

impl Limits {
    /// All is kept.
    pub(super) const NONE: Self = Self { execs: usize::MAX, age: Duration::MAX, bytes: u64::MAX };
}

/// The execs that have ended. The first to end is the first to go.
#[derive(Debug)]
pub(super) struct Ended {
    limits: Limits,
    /// The bytes on disk of each.
    execs: BTreeMap<Place, u64>,
    bytes: u64,
    /// Those that a process outlives: they count for nothing until the time when they are looked at again.
    held: BTreeMap<Place, (Place, u64)>,
}

/// When an exec ended, or is looked at again, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) at: Time,
    pub(super) number: u64,
}

impl Ended {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, execs: BTreeMap::new(), bytes: 0, held: BTreeMap::new() }
    }

    /// An exec has ended.
    pub(super) fn add(&mut self, place: Place, bytes: u64) {
        self.remove(place);
        self.execs.insert(place, bytes);
        self.bytes += bytes;
    }

    /// It is not there any more.
    pub(super) fn remove(&mut self, place: Place) {
        if let Some(bytes) = self.execs.remove(&place) {
            self.bytes -= bytes;
        } else if !self.held.is_empty() {
            self.held.retain(|_, (held, _)| *held != place);
        }
    }

    /// The next one to go now. Of disk alone the newest is never too much: a command that writes more than all
    /// may take would be gone before anybody could read its end.
    pub(super) fn due(&mut self, now: Time) -> Option<Place> {
        self.release(now);
        let (oldest, _) = self.execs.first_key_value()?;
        let count = self.execs.len();
        let over = count > self.limits.execs
            || oldest.at.age(now) >= self.limits.age
            || (self.bytes > self.limits.bytes && count > 1);
        over.then_some(*oldest)
    }

    /// It can't go now: a process of it lives. It is looked at again at that time.
    pub(super) fn hold(&mut self, place: Place, until: Time) {
        if let Some(bytes) = self.execs.remove(&place) {
            self.bytes -= bytes;
            self.held.insert(Place { at: until, number: place.number }, (place, bytes));
        }
    }

    /// When to look again, if nothing ends before.
    pub(super) fn next_look(&self) -> Option<Time> {
        let expires = self.execs.first_key_value().map(|(place, _)| place.at.plus(self.limits.age));
        let released = self.held.first_key_value().map(|(place, _)| place.at);
        [expires, released].into_iter().flatten().min()
    }

    pub(super) fn len(&self) -> usize {
        self.execs.len() + self.held.len()
    }

    fn release(&mut self, now: Time) {
        while let Some(first) = self.held.first_entry()
            && first.key().at <= now
        {
            let (place, bytes) = first.remove();
            self.execs.insert(place, bytes);
            self.bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(milliseconds: u64) -> Time {
        Time::from(std::time::UNIX_EPOCH + Duration::from_millis(milliseconds))
    }

    fn place(at: u64, number: u64) -> Place {
        Place { at: time(at), number }
    }

    /// What is left when all has gone that is to go.
    fn left(execs: &[(u64, u64)], limits: Limits, now: u64) -> Vec<(u64, u64)> {
        let mut ended = Ended::new(limits);
        for (number, (at, bytes)) in execs.iter().enumerate() {
            ended.add(place(*at, number as u64), *bytes);
        }
        while let Some(place) = ended.due(time(now)) {
            ended.remove(place);
        }
        let total: u64 = ended.execs.values().sum();
        assert_eq!(ended.bytes, total);
        ended.execs.keys().map(|place| execs[usize::try_from(place.number).unwrap()]).collect()
    }

    proptest! {
        #[test]
        fn what_is_left_is_the_newest_that_fit(
            execs in prop::collection::vec((0_u64..1000, 0_u64..100), 0..60),
            count in 1_usize..50,
            age in 1_u64..1000,
            bytes in 0_u64..3000,
            now in 0_u64..2000,
        ) {
            let limits = Limits { execs: count, age: Duration::from_millis(age), bytes };
            let mut sorted = execs.clone();
            // Stable: of those that ended together the one with the higher number is the newer.
            sorted.sort_by_key(|(at, _)| *at);
            let mut expected: Vec<(u64, u64)> = Vec::new();
            for (at, size) in sorted.into_iter().rev() {
                let total: u64 = expected.iter().map(|(_, size)| size).sum();
                let fits = expected.is_empty() || total + size <= bytes;
                if expected.len() == count || now.saturating_sub(at) >= age || !fits {
                    break;
                }
                expected.push((at, size));
            }
            expected.reverse();
            prop_assert_eq!(left(&execs, limits, now), expected);
        }

        #[test]
        fn whatever_happens_the_sum_is_right_and_nothing_is_due_twice(
            steps in prop::collection::vec((0_u8..5, 0_u64..30, 0_u64..100), 0..200),
        ) {
            let mut ended = Ended::new(Limits { execs: 5, age: Duration::from_millis(50), bytes: 300 });
            let mut now = 0;
            for (what, number, amount) in steps {
                match what {
                    0 => ended.add(place(number, number), amount),
                    1 => ended.remove(place(number, number)),
                    2 => ended.hold(place(number, number), time(now + amount)),
                    3 => now += amount,
                    _ => if let Some(due) = ended.due(time(now)) {
                        ended.remove(due);
                        prop_assert_ne!(ended.due(time(now)), Some(due));
                    },
                }
                prop_assert_eq!(ended.bytes, ended.execs.values().sum::<u64>());
                prop_assert_eq!(ended.len() == 0, ended.next_look().is_none());
            }
        }
    }

    #[test]
    fn one_that_a_process_outlives_is_looked_at_again_and_counts_for_nothing_meanwhile() {
        let mut ended = Ended::new(Limits { execs: 1, age: Duration::from_secs(1), bytes: 10 });
        ended.add(place(1, 1), 100);
        ended.add(place(2, 2), 1);
        assert_eq!(ended.due(time(2)), Some(place(1, 1)));
        ended.hold(place(1, 1), time(500));
        assert_eq!(ended.due(time(499)), None);
        assert_eq!(ended.next_look(), Some(time(500)));
        assert_eq!(ended.due(time(500)), Some(place(1, 1)));
        ended.hold(place(1, 1), time(900));
        ended.remove(place(1, 1));
        assert_eq!((ended.due(time(999)), ended.len()), (None, 1));
        assert_eq!(ended.next_look(), Some(time(1002)));
    }

    #[test]
    fn the_newest_stays_however_large_it_is() {
        let limits = Limits { execs: 10, age: Duration::from_mins(1), bytes: 10 };
        assert_eq!(left(&[(1, 5), (2, 1_000)], limits, 3), [(2, 1_000)]);
    }
}
