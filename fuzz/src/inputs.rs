//! Inputs without a fuzzer: seeds and words, mutated at random.

use fastrand::Rng;

use crate::Target;

/// How many inputs are kept to make others from.
const POOL: usize = 64;

/// The size of most inputs, and of the others, in bytes.
const USUAL: usize = 300;
const LARGE: usize = 4096;

/// Numbers that parsers stumble over.
const NUMBERS: [&[u8]; 12] = [
    b"0",
    b"-0",
    b"-1",
    b"007",
    b"1e9",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
];

/// Makes inputs for a target: the same ones for the same seed.
///
/// Each is made from one of a pool by some mutations. Some take their place in the pool, so that they
/// wander further and further away from the target's seeds, and seeds come back to it.
#[derive(Debug)]
pub struct Inputs {
    target: Target,
    random: Rng,
    pool: Vec<Vec<u8>>,
    input: Vec<u8>,
}

impl Inputs {
    /// The inputs of a seed.
    #[must_use]
    pub fn new(target: Target, seed: u64) -> Self {
        let pool = (0..POOL).map(|at| seed_at(&target, at)).collect();
        Self { target, random: Rng::with_seed(seed), pool, input: Vec::new() }
    }

    /// The next one.
    pub fn next_input(&mut self) -> &[u8] {
        let place = self.random.usize(..self.pool.len());
        self.input.clear();
        self.input.extend_from_slice(&self.pool[place]);
        let limit = if self.random.u8(..) == 0 { LARGE } else { USUAL };
        for _ in 0..self.random.usize(1..6) {
            self.mutate(limit);
        }
        self.input.truncate(limit);
        match self.random.u8(..) {
            0..4 => self.pool[place].clone_from(&self.input),
            4..6 => self.pool[place] = seed_at(&self.target, self.random.usize(..1000)),
            _ => {}
        }
        &self.input
    }

    fn mutate(&mut self, limit: usize) {
        let Self { target, random, pool, input } = self;
        let place = random.usize(..=input.len());
        match random.u8(..12) {
            0 | 1 => insert(input, place, pick(random, target.words)),
            2 => overwrite(input, place, pick(random, target.words)),
            3 => insert(input, place, pick(random, &NUMBERS)),
            4 => {
                if let Some(byte) = input.get_mut(place) {
                    *byte ^= 1 << random.u8(..8);
                }
            }
            5 => insert(input, place, &[random.u8(..)]),
            6 => overwrite(input, place, &[random.u8(..)]),
            7 => {
                let end = (place + random.usize(1..=16)).min(input.len());
                input.drain(place..end);
            }
            8 => input.truncate(place),
            9 => {
                // A part of it, some times over.
                let end = (place + random.usize(1..=32)).min(input.len());
                let part = input[place..end].to_vec();
                let times = random.usize(1..=8);
                let times = if limit == LARGE { times * 16 } else { times };
                insert(input, place, &part.repeat(times));
            }
            10 => {
                // The end of another one.
                let other = &pool[random.usize(..pool.len())];
                let from = random.usize(..=other.len());
                input.truncate(place);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                // What lies behind comes first.
                let end = (place + random.usize(1..=32)).min(input.len());
                input[place..end].reverse();
            }
        }
    }
}

/// One of the target's seeds; an empty input where it has none.
fn seed_at(target: &Target, at: usize) -> Vec<u8> {
    let seeds = target.seeds;
    at.checked_rem(seeds.len()).map_or_else(Vec::new, |at| seeds[at].to_vec())
}

fn pick(random: &mut Rng, words: &[&'static [u8]]) -> &'static [u8] {
    random.choice(words).copied().unwrap_or(b"\0")
}

fn insert(input: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    input.splice(place..place, bytes.iter().copied());
}

fn overwrite(input: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    let end = (place + bytes.len()).min(input.len());
    input.splice(place..end, bytes.iter().copied());
}
