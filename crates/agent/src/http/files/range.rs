use std::ops::Range;

/// Which part of a file is asked for (RFC 9110, 14.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// From the first byte up to, and without, the last; never empty.
    Bytes(Range<u64>),
    /// None that is there.
    Unsatisfiable,
}

/// Reads a `Range` for a file of that size. What is none, or has several parts, is passed over, as it may be.
pub(super) fn part(range: &str, size: u64) -> Part {
    let Some(spec) = range.trim().strip_prefix("bytes=").map(str::trim) else {
        return Part::Whole;
    };
    let Some((first, last)) = spec.split_once('-') else {
        return Part::Whole;
    };
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // What can't be counted is behind any end.
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), None) if last.is_empty() => from(first, size, size),
        (Some(first), Some(last)) if first <= last => from(first, last.saturating_add(1), size),
        // The last so many.
        (None, Some(count)) if first.is_empty() => match size.min(count) {
            0 => Part::Unsatisfiable,
            count => Part::Bytes(size - count..size),
        },
        _ => Part::Whole,
    }
}

fn from(first: u64, end: u64, size: u64) -> Part {
    if first < size { Part::Bytes(first..end.min(size)) } else { Part::Unsatisfiable }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_part_is_read_and_anything_else_is_all_of_it() {
        for (range, expected) in [
            ("bytes=0-", Part::Bytes(0..10)),
            ("bytes=3-5", Part::Bytes(3..6)),
            ("bytes=9-9", Part::Bytes(9..10)),
            ("bytes=3-99999999999999999999999", Part::Bytes(3..10)),
            ("bytes=-4", Part::Bytes(6..10)),
            ("bytes=-40", Part::Bytes(0..10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=99999999999999999999999-", Part::Unsatisfiable),
            ("bytes=5-3", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=+1-", Part::Whole),
            ("bytes", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Unsatisfiable);
    }

    proptest! {
        #[test]
        fn a_part_is_within_the_file(range in "bytes=[0-9]{0,21}-[0-9]{0,21}", size: u64) {
            if let Part::Bytes(part) = part(&range, size) {
                prop_assert!(part.start < part.end && part.end <= size);
            }
        }
    }
}
