//! How much memory a parser may take.

use std::cell::Cell;

thread_local! {
    static PEAK: Cell<u64> = const { Cell::new(0) };
}

/// The most memory that a parser may hold at any time: so many bytes, and so many for each byte of input.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    base: u64,
    per_byte: u64,
}

impl Bound {
    /// `base` bytes, and `per_byte` for each byte of input.
    #[must_use]
    pub const fn new(base: u64, per_byte: u64) -> Self {
        Self { base, per_byte }
    }

    /// Gives what the work makes of the input.
    ///
    /// # Panics
    /// It takes more memory than the bound allows.
    pub fn hold<T>(self, input: &[u8], work: impl FnOnce() -> T) -> T {
        let mut made = None;
        let taken = allocation_counter::measure(|| made = Some(work())).bytes_max;
        PEAK.set(PEAK.get().max(taken));
        let most = self.base + self.per_byte * input.len() as u64;
        assert!(
            taken <= most,
            "{taken} bytes of memory for an input of {} bytes: at most {most} are allowed",
            input.len()
        );
        made.expect("the work was done")
    }
}

/// The most that was held since the last call, in bytes.
pub(crate) fn take_peak() -> u64 {
    PEAK.take()
}
