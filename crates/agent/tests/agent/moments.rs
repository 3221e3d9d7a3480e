//! Moments that are as good as chance.

use std::{
    env,
    hash::{BuildHasher, Hasher, RandomState},
    io::{Write, stderr},
    time::Duration,
};

/// They come of a seed, which is printed. `SEED` in the environment repeats those of that seed, as far as the machine is as fast.
pub(crate) struct Moments(u64);

impl Moments {
    pub(crate) fn of(test: &str) -> Self {
        let seed = env::var("SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let _told = writeln!(stderr(), "{test}: SEED={seed}");
        Self(seed)
    }

    /// One before that has passed.
    pub(crate) fn within(&mut self, limit: Duration) -> Duration {
        let limit = u64::try_from(limit.as_micros()).unwrap();
        Duration::from_micros(self.below(limit))
    }

    /// A number below that (`SplitMix64`).
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
