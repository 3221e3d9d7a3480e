//! Which parts of an output are stdout, and which stderr.

use sandpipe_protocol::OutputType;

/// The parts of an output that are of one stream: stdout and stderr in turn.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// The length of each; the first is of stdout, and may be 0.
    lengths: Vec<u32>,
}

impl Runs {
    /// So much more comes from a stream.
    pub(crate) fn push(&mut self, kind: OutputType, length: usize) {
        if length == 0 {
            return;
        }
        // An output longer than this can't be kept.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let is_stdout_next = self.lengths.len().is_multiple_of(2);
        match self.lengths.last_mut() {
            Some(last) if is_stdout_next == (kind == OutputType::Stderr) => {
                *last = last.saturating_add(length);
            }
            None if kind == OutputType::Stderr => self.lengths.extend([0, length]),
            _ => self.lengths.push(length),
        }
    }

    /// The lengths; none where all is stdout.
    pub(crate) fn into_lengths(self) -> Vec<u32> {
        if self.lengths.len() > 1 { self.lengths } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OutputType::{Stderr, Stdout};

    fn lengths(pieces: &[(OutputType, usize)]) -> Vec<u32> {
        let mut runs = Runs::default();
        for (kind, length) in pieces {
            runs.push(*kind, *length);
        }
        runs.into_lengths()
    }

    #[test]
    fn what_comes_from_one_stream_is_one_run() {
        let pieces = [(Stdout, 1), (Stdout, 2), (Stderr, 3), (Stderr, 0), (Stderr, 4), (Stdout, 5)];
        assert_eq!(lengths(&pieces), [3, 7, 5]);
    }

    #[test]
    fn the_first_run_is_of_stdout() {
        assert_eq!(lengths(&[(Stderr, 3), (Stdout, 0), (Stderr, 1)]), [0, 4]);
    }

    #[test]
    fn there_are_none_where_all_is_stdout() {
        assert_eq!(lengths(&[(Stdout, 3), (Stderr, 0)]), Vec::<u32>::new());
    }
}
