//! Which of the execs that have ended are to go. It decides, and does no I/O.
//!
//! [`EndedExecs`] has a queue of them in the order of ending, whatever the clock says. The first of the queue is due
//! when it is over the [`RetentionLimits`] and its client has had the time to read its end; who finds it in use nonetheless
//! puts it on [`Hold`].

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::{Duration, Instant},
};

/// How much is kept of the execs that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionLimits {
    /// The most execs, at least 1.
    pub(crate) execs: usize,
    /// How long each.
    pub(crate) age: Duration,
    /// The most bytes of output and records of all together.
    pub(crate) bytes: u64,
}

/// How long an exec is kept after its end, but for [`RetentionLimits::age`]: its client may still ask for its end.
const MIN_AGE: Duration = Duration::from_mins(1);

/// How many times the limits are kept at most, where that is for [`MIN_AGE`] or for readers.
const MAX_EXCESS: usize = 4;

impl RetentionLimits {
    /// All is kept.
    pub(super) const NONE: Self = Self { execs: usize::MAX, age: Duration::MAX, bytes: u64::MAX };

    /// What goes for those that are in use, too.
    fn hard(self) -> Self {
        let execs = self.execs.saturating_mul(MAX_EXCESS);
        Self { execs, bytes: self.bytes.saturating_mul(MAX_EXCESS as u64), ..self }
    }

    /// Whether it is more. Of bytes alone the newest is never too much: a command that writes more than all may
    /// take would be gone before anybody could read its end.
    fn are_exceeded_by(self, Total { execs, bytes }: Total) -> bool {
        execs > self.execs || (bytes > u128::from(self.bytes) && execs > 1)
    }
}

/// The execs that have ended, by number.
#[derive(Clone, Debug)]
pub(super) struct EndedExecs {
    limits: RetentionLimits,
    execs: HashMap<u64, EndedExec>,
    /// How many have ended.
    count: u64,
    /// The numbers of those that are not held, in the order of ending.
    queue: BTreeMap<EndOrder, u64>,
    queued: Total,
    /// The numbers of those that are held for a reader, in the same order.
    read: BTreeMap<EndOrder, u64>,
    reading: Total,
    /// The numbers of all that are held, by when they are to be looked at again.
    held: BTreeSet<(Instant, u64)>,
}

/// The place in the order of ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndOrder(u64);

#[derive(Clone, Debug)]
struct EndedExec {
    order: EndOrder,
    since: Instant,
    bytes: u64,
    hold: Option<(Hold, Instant)>,
}

/// Why an exec can't go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// A process of it lives, or it can't be removed: it counts for nothing.
    Process,
    /// Somebody reads its output: it goes all the same where there is far too much.
    Reader,
}

/// An exec that is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueExec {
    pub(super) number: u64,
    /// Also if somebody reads its output.
    pub(super) though_read: bool,
}

/// Some execs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    execs: usize,
    bytes: u128,
}

impl Total {
    fn add(&mut self, bytes: u64) {
        self.execs += 1;
        self.bytes += u128::from(bytes);
    }

    fn subtract(&mut self, bytes: u64) {
        self.execs -= 1;
        self.bytes -= u128::from(bytes);
    }

    fn plus(self, other: Self) -> Self {
        Self { execs: self.execs + other.execs, bytes: self.bytes + other.bytes }
    }
}

impl EndedExecs {
    pub(super) fn new(limits: RetentionLimits) -> Self {
        Self {
            limits,
            execs: HashMap::new(),
            count: 0,
            queue: BTreeMap::new(),
            queued: Total::default(),
            read: BTreeMap::new(),
            reading: Total::default(),
            held: BTreeSet::new(),
        }
    }

    pub(super) fn limits(&self) -> RetentionLimits {
        self.limits
    }

    /// An exec has ended, after all that there are, and takes so many bytes on disk.
    pub(super) fn add(&mut self, number: u64, since: Instant, bytes: u64) {
        self.remove(number);
        self.count += 1;
        let order = EndOrder(self.count);
        self.execs.insert(number, EndedExec { order, since, bytes, hold: None });
        self.queue.insert(order, number);
        self.queued.add(bytes);
    }

    /// It is not there any more.
    pub(super) fn remove(&mut self, number: u64) {
        if let Some(exec) = self.execs.remove(&number) {
            self.take_out(number, &exec);
        }
    }

    /// It can't go now, and is looked at again at that time.
    pub(super) fn hold(&mut self, number: u64, hold: Hold, until: Instant) {
        let Some(mut exec) = self.execs.remove(&number) else {
            return;
        };
        self.take_out(number, &exec);
        exec.hold = Some((hold, until));
        self.held.insert((until, number));
        if hold == Hold::Reader {
            self.read.insert(exec.order, number);
            self.reading.add(exec.bytes);
        }
        self.execs.insert(number, exec);
    }

    /// The next one to go now.
    pub(super) fn due(&mut self, now: Instant) -> Option<DueExec> {
        while let Some((until, number)) = self.held.first().copied()
            && until <= now
        {
            self.release(number);
        }
        let (at, due) = self.first_due()?;
        (at <= now).then_some(due)
    }

    /// When to look again, if nothing ends before.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let due = self.first_due().map(|(at, _)| at);
        let released = self.held.first().map(|(until, _)| *until);
        [due, released].into_iter().flatten().min()
    }

    /// How many are to go now.
    pub(super) fn count_due(&self, now: Instant) -> usize {
        let mut rest = self.clone();
        while let Some(due) = rest.due(now) {
            rest.remove(due.number);
        }
        self.execs.len() - rest.execs.len()
    }

    /// The next one to go, and when.
    fn first_due(&self) -> Option<(Instant, DueExec)> {
        let first = self.queue.first_key_value();
        if self.limits.hard().are_exceeded_by(self.queued.plus(self.reading)) {
            let oldest = [first, self.read.first_key_value()].into_iter().flatten().min()?.1;
            let at = self.execs.get(oldest)?.since;
            return Some((at, DueExec { number: *oldest, though_read: true }));
        }
        let number = *first?.1;
        let is_over = self.limits.are_exceeded_by(self.queued);
        let age = if is_over { self.limits.age.min(MIN_AGE) } else { self.limits.age };
        let at = self.execs.get(&number)?.since.checked_add(age)?;
        Some((at, DueExec { number, though_read: false }))
    }

    fn release(&mut self, number: u64) {
        if let Some(mut exec) = self.execs.remove(&number) {
            self.take_out(number, &exec);
            exec.hold = None;
            self.queue.insert(exec.order, number);
            self.queued.add(exec.bytes);
            self.execs.insert(number, exec);
        }
    }

    fn take_out(&mut self, number: u64, exec: &EndedExec) {
        match exec.hold {
            None => {
                self.queue.remove(&exec.order);
                self.queued.subtract(exec.bytes);
            }
            Some((hold, until)) => {
                self.held.remove(&(until, number));
                if hold == Hold::Reader {
                    self.read.remove(&exec.order);
                    self.reading.subtract(exec.bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Moments in milliseconds after the first.
    struct Clock(Instant);

    impl Clock {
        fn at(&self, milliseconds: u64) -> Instant {
            self.0 + Duration::from_millis(milliseconds)
        }
    }

    fn clock() -> Clock {
        Clock(Instant::now())
    }

    const MINUTE: u64 = 60_000;

    fn limits(execs: usize, age: u64, bytes: u64) -> RetentionLimits {
        RetentionLimits { execs, age: Duration::from_millis(age), bytes }
    }

    /// The numbers of what is left when all has gone that is to go; they are those of the order of ending.
    fn left(execs: &[(u64, u64)], limits: RetentionLimits, now: u64) -> Vec<u64> {
        let clock = clock();
        let mut ended = EndedExecs::new(limits);
        for (number, (since, bytes)) in (0..).zip(execs) {
            ended.add(number, clock.at(*since), *bytes);
        }
        let count = ended.count_due(clock.at(now));
        while let Some(due) = ended.due(clock.at(now)) {
            ended.remove(due.number);
        }
        assert_eq!(count, execs.len() - ended.execs.len());
        ended.queue.into_values().collect()
    }

    proptest! {
        #[test]
        fn what_is_left_is_the_newest_that_fit(
            mut execs in prop::collection::vec((0_u64..2 * MINUTE, 0_u64..100), 0..60),
            count in 1_usize..15,
            age in 1_u64..3 * MINUTE,
            bytes in 0_u64..1000,
            later in 0_u64..3 * MINUTE,
        ) {
            execs.sort_by_key(|(since, _)| *since);
            let now = execs.last().map_or(0, |(since, _)| *since) + later;
            let fits = |kept: &[&(u64, u64)], factor: usize| {
                let total: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
                kept.len() <= count * factor && (total <= bytes * factor as u64 || kept.len() == 1)
            };
            let stays = |first: usize| {
                let rest: Vec<_> = execs[first..].iter().collect();
                let passed = now - rest[0].0;
                passed < age && fits(&rest, MAX_EXCESS) && (passed < MINUTE || fits(&rest, 1))
            };
            let first = (0..execs.len()).find(|first| stays(*first)).unwrap_or(execs.len());
            let expected: Vec<_> = (first as u64..execs.len() as u64).collect();
            prop_assert_eq!(left(&execs, limits(count, age, bytes), now), expected);
        }

        #[test]
        fn whatever_happens_the_sums_are_right_and_what_is_due_is_looked_at(
            steps in prop::collection::vec((0_u8..6, 0_u64..30, 0_u64..100), 0..200),
        ) {
            let clock = clock();
            let mut ended = EndedExecs::new(limits(3, 50, 300));
            let mut now = 0;
            for (what, number, amount) in steps {
                match what {
                    0 | 1 => ended.add(number, clock.at(now), amount),
                    2 => ended.remove(number),
                    3 => {
                        let hold = if amount % 2 == 0 { Hold::Reader } else { Hold::Process };
                        ended.hold(number, hold, clock.at(now + amount));
                    }
                    4 => now += amount,
                    _ => {
                        let look = ended.next_look();
                        let due = ended.due(clock.at(now));
                        if let Some(due) = due {
                            prop_assert!(look.unwrap() <= clock.at(now));
                            ended.remove(due.number);
                            prop_assert_ne!(ended.due(clock.at(now)), Some(due));
                        } else {
                            prop_assert!(ended.next_look().is_none_or(|look| look > clock.at(now)));
                        }
                    }
                }
                let sum = |numbers: Vec<&u64>| {
                    let mut total = Total::default();
                    for number in numbers {
                        total.add(ended.execs[number].bytes);
                    }
                    total
                };
                prop_assert_eq!(ended.queued, sum(ended.queue.values().collect()));
                prop_assert_eq!(ended.reading, sum(ended.read.values().collect()));
                prop_assert_eq!(ended.queue.len() + ended.held.len(), ended.execs.len());
                prop_assert_eq!(ended.execs.is_empty(), ended.next_look().is_none());
            }
        }
    }

    #[test]
    fn one_that_a_process_outlives_is_looked_at_again_and_counts_for_nothing_meanwhile() {
        let clock = clock();
        let mut ended = EndedExecs::new(limits(1, 5 * MINUTE, 1000));
        ended.add(1, clock.at(1), 100);
        ended.add(2, clock.at(2), 1);
        let due = |number| Some(DueExec { number, though_read: false });
        assert_eq!(ended.due(clock.at(MINUTE)), None);
        assert_eq!(ended.due(clock.at(MINUTE + 1)), due(1));
        ended.hold(1, Hold::Process, clock.at(2 * MINUTE));
        assert_eq!(ended.due(clock.at(2 * MINUTE - 1)), None);
        assert_eq!(ended.next_look(), Some(clock.at(2 * MINUTE)));
        assert_eq!(ended.due(clock.at(2 * MINUTE)), due(1));
        ended.hold(1, Hold::Process, clock.at(3 * MINUTE));
        ended.remove(1);
        assert_eq!(ended.due(clock.at(4 * MINUTE)), None);
        assert_eq!(ended.next_look(), Some(clock.at(5 * MINUTE + 2)));
    }

    #[test]
    fn one_that_is_read_goes_only_where_there_is_far_too_much() {
        let clock = clock();
        let mut ended = EndedExecs::new(limits(1, 100 * MINUTE, 1000));
        for number in 1..=4 {
            ended.add(number, clock.at(0), 10);
        }
        let now = clock.at(MINUTE);
        for number in 1..=3 {
            assert_eq!(ended.due(now), Some(DueExec { number, though_read: false }));
            ended.hold(number, Hold::Reader, clock.at(2 * MINUTE));
        }
        assert_eq!(ended.due(now), None);
        ended.add(5, now, 10);
        assert_eq!(ended.due(now), Some(DueExec { number: 1, though_read: true }));
        ended.remove(1);
        assert_eq!(ended.due(now), Some(DueExec { number: 4, though_read: false }));
    }

    #[test]
    fn the_newest_stays_however_large_it_is() {
        let limits = limits(10, 10 * MINUTE, 10);
        assert_eq!(left(&[(1, 5), (2, 1_000)], limits, 3), [1]);
        assert_eq!(left(&[(1, u64::MAX), (2, u64::MAX)], limits, 3), [1]);
    }
}
