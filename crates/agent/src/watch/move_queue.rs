use std::{
    collections::{HashSet, VecDeque},
    ffi::OsString,
    time::{Duration, Instant},
};

use rustix::fs::inotify::ReadFlags;

/// How long the second half of a move may take to come after the first. inotify(7): the two "are usually consecutive", but other
/// events may come between them, and to queue both is not one step.
pub(super) const PAIR_TIMEOUT: Duration = Duration::from_millis(10);
/// How many events wait behind the first half of a move.
const MAX_HELD: usize = 4096;

/// An event as the system tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawEvent {
    /// The watch.
    pub(super) watch: i32,
    pub(super) flags: ReadFlags,
    /// What the halves of a move have in common.
    pub(super) cookie: u32,
    /// In the watched directory; empty where it is about that itself.
    pub(super) name: OsString,
}

/// Events that were read and not handled yet. It puts the halves of moves together.
#[derive(Debug, Default)]
pub(super) struct MoveQueue {
    events: VecDeque<(RawEvent, Instant)>,
    /// Of the second halves in it.
    arrived: HashSet<u32>,
}

/// What is to be handled next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The half of a move is one whose other half is not watched.
    Event(RawEvent),
    Move {
        from: RawEvent,
        to: RawEvent,
    },
    /// Nothing before then, unless more has been read: the second half of a move may come.
    Wait(Instant),
    Empty,
}

impl MoveQueue {
    pub(super) fn push(&mut self, event: RawEvent, now: Instant) {
        if event.flags.contains(ReadFlags::MOVED_TO) {
            self.arrived.insert(event.cookie);
        }
        self.events.push_back((event, now));
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        let held = self.events.len();
        let Some((event, read)) = self.events.front() else {
            return Next::Empty;
        };
        if event.flags.contains(ReadFlags::MOVED_FROM) && !self.arrived.contains(&event.cookie) {
            let until = *read + PAIR_TIMEOUT;
            if now < until && held < MAX_HELD {
                return Next::Wait(until);
            }
        }
        let Some((event, _)) = self.events.pop_front() else {
            return Next::Empty;
        };
        if event.flags.contains(ReadFlags::MOVED_FROM) && self.arrived.remove(&event.cookie) {
            let is_other = |(other, _): &(RawEvent, Instant)| {
                other.flags.contains(ReadFlags::MOVED_TO) && other.cookie == event.cookie
            };
            let other = self.events.iter().position(is_other);
            if let Some((to, _)) = other.and_then(|at| self.events.remove(at)) {
                return Next::Move { from: event, to };
            }
        }
        if event.flags.contains(ReadFlags::MOVED_TO) {
            self.arrived.remove(&event.cookie);
        }
        Next::Event(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(flags: ReadFlags, cookie: u32, name: &str) -> RawEvent {
        RawEvent { watch: 1, flags, cookie, name: name.into() }
    }

    fn from(cookie: u32) -> RawEvent {
        event(ReadFlags::MOVED_FROM, cookie, "a")
    }

    fn to(cookie: u32) -> RawEvent {
        event(ReadFlags::MOVED_TO, cookie, "b")
    }

    #[test]
    fn the_halves_of_a_move_are_put_together_whatever_is_between_them() {
        let now = Instant::now();
        let mut queue = MoveQueue::default();
        let between = event(ReadFlags::CREATE, 0, "c");
        for event in [from(1), between.clone(), from(2), to(2), to(1)] {
            queue.push(event, now);
        }
        assert_eq!(queue.next(now), Next::Move { from: from(1), to: to(1) });
        assert_eq!(queue.next(now), Next::Event(between));
        assert_eq!(queue.next(now), Next::Move { from: from(2), to: to(2) });
        assert_eq!(queue.next(now), Next::Empty);
        assert!(queue.arrived.is_empty());
    }

    #[test]
    fn a_first_half_waits_for_the_second_for_a_while_and_all_that_follows_waits_with_it() {
        let start = Instant::now();
        let mut queue = MoveQueue::default();
        queue.push(from(1), start);
        queue.push(event(ReadFlags::CREATE, 0, "a"), start);
        assert_eq!(queue.next(start), Next::Wait(start + PAIR_TIMEOUT));
        let late = start + PAIR_TIMEOUT;
        assert_eq!(queue.next(late), Next::Event(from(1)));
        assert!(matches!(queue.next(late), Next::Event(_)));
        // Too late: it is one of its own.
        queue.push(to(1), late);
        assert_eq!(queue.next(late), Next::Event(to(1)));
        assert!(queue.arrived.is_empty());
    }

    #[test]
    fn not_many_events_wait() {
        let now = Instant::now();
        let mut queue = MoveQueue::default();
        for cookie in 0..5_000 {
            queue.push(from(cookie), now);
        }
        let mut taken = 0;
        while let Next::Event(_) = queue.next(now) {
            taken += 1;
        }
        assert_eq!(taken, 5_000 - (MAX_HELD - 1));
    }
}
