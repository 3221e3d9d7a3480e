use std::{collections::VecDeque, time::Duration};

use super::source::Source;

/// So many small reads in a row are the beginning of many.
const READS: usize = 4;
/// In this time.
const WITHIN: Duration = Duration::from_millis(2);
/// A read of less than this is small.
const SMALL: usize = 4096;
/// One of this much or more fills the pipe: its process is not to wait.
const MUCH: usize = 64 * 1024;

/// Decides when what a process writes in many small parts is gathered before it is read: each part by itself would be an event,
/// and would wake its readers. It has no clock of its own; times are of any one that runs evenly.
///
/// What comes alone is never waited for, nor is anything where both streams are written to.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    source: Option<Source>,
    /// When the last small reads were, of that source.
    reads: VecDeque<Duration>,
}

impl Gathering {
    /// How long more may be waited for.
    pub(super) const WAIT: Duration = Duration::from_micros(300);

    /// Takes note of a read, before which more was waited for or not.
    pub(super) fn note(&mut self, source: Source, len: usize, was_due: bool, now: Duration) {
        let is_small = len < if was_due { MUCH } else { SMALL };
        if !is_small || self.source != Some(source) {
            self.reads.clear();
        }
        self.source = Some(source);
        if is_small {
            self.reads.truncate(READS - 1);
            self.reads.push_front(now);
        }
    }

    /// Whether more is to be waited for before the next read of a source, which has something now.
    pub(super) fn is_due(&self, source: Source, now: Duration) -> bool {
        let is_alone = source != Source::Terminal && self.source == Some(source);
        let earliest = self.reads.get(READS - 1);
        is_alone && earliest.is_some_and(|earliest| now.saturating_sub(*earliest) <= WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: Source = Source::Stdout;

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Reads of so many bytes, so many microseconds apart; returns which ones were due.
    fn reads(lens: &[usize], apart: u64) -> Vec<bool> {
        let mut gathering = Gathering::default();
        let mut now = 0;
        let read = |len: &usize| {
            now += apart;
            let is_due = gathering.is_due(OUT, micros(now));
            gathering.note(OUT, *len, is_due, micros(now));
            is_due
        };
        lens.iter().map(read).collect()
    }

    #[test]
    fn many_small_writes_are_gathered_from_the_fifth_on() {
        assert_eq!(reads(&[50; 7], 10), [false, false, false, false, true, true, true]);
        // What was gathered may be more, and goes on.
        let lens = [50, 50, 50, 50, 20_000, 60_000, 20_000];
        assert_eq!(reads(&lens, 400), [false, false, false, false, true, true, true]);
    }

    #[test]
    fn what_comes_slowly_is_never_waited_for() {
        assert!(!reads(&[50; 100], 510).contains(&true));
        let mut gathering = Gathering::default();
        (0..9).for_each(|now| gathering.note(OUT, 50, false, micros(now)));
        assert!(gathering.is_due(OUT, micros(2_000)));
        assert!(!gathering.is_due(OUT, micros(2_006)));
    }

    #[test]
    fn what_comes_in_large_parts_is_read_at_once() {
        assert!(!reads(&[4096; 20], 1).contains(&true));
        // A part of which the pipe is full.
        let due = reads(&[50, 50, 50, 50, 65_536, 50, 50, 50, 50, 50], 10);
        let waits = due.iter().enumerate().filter(|(_, is_due)| **is_due);
        assert_eq!(waits.map(|(place, _)| place).collect::<Vec<_>>(), [4, 9]);
    }

    #[test]
    fn nothing_is_waited_for_where_both_streams_are_written_to() {
        let mut gathering = Gathering::default();
        for (now, source) in [OUT, OUT, OUT, Source::Stderr].iter().cycle().take(40).enumerate() {
            let now = micros(now as u64);
            assert!(!gathering.is_due(*source, now));
            gathering.note(*source, 50, false, now);
        }
        // Nor of a terminal, whose reads are small in any case.
        (0..9).for_each(|now| gathering.note(Source::Terminal, 50, false, micros(now)));
        assert!(!gathering.is_due(Source::Terminal, micros(9)));
    }
}
