//! Durations as scripts have them.

/// How long one script waits on the target, in milliseconds: a connection on which nothing comes for
/// longer may be taken for dead.
const SLICE_MS: f64 = 20_000.0;

/// A duration as a shell can count with it; more than that is for ever.
pub(super) fn whole_milliseconds(milliseconds: f64) -> u32 {
    // The cast keeps to the range, and the shell's numbers are signed.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = milliseconds.ceil() as u32;
    whole.min(i32::MAX as u32)
}

/// A part of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) milliseconds: f64,
    pub(super) is_last: bool,
}

impl Slice {
    /// The next one, when there is so much left to wait.
    pub(super) fn until(left_ms: f64) -> Self {
        Self { milliseconds: left_ms.clamp(0.0, SLICE_MS), is_last: left_ms <= SLICE_MS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_cut_into_slices_of_which_one_is_the_last() {
        let slice = |milliseconds, is_last| Slice { milliseconds, is_last };
        assert_eq!(Slice::until(f64::INFINITY), slice(SLICE_MS, false));
        assert_eq!(Slice::until(SLICE_MS + 1.0), slice(SLICE_MS, false));
        assert_eq!(Slice::until(5.0), slice(5.0, true));
        assert_eq!(Slice::until(-1.0), slice(0.0, true));
    }
}
