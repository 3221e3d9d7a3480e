//! What marks a script's own words in what a shell prints.

use std::fmt::Write;

/// A random number as 32 hexadecimal digits. No script can know it, so that nothing which is printed by chance or by
/// design is taken for what has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nonce(String);

impl Nonce {
    /// That of random bytes, which are to be used for nothing else.
    pub(crate) fn of_bytes(random: [u8; 16]) -> Self {
        Self(random.iter().fold(String::with_capacity(32), |mut digits, byte| {
            // Writing to a String does not fail.
            write!(digits, "{byte:02x}").unwrap_or_default();
            digits
        }))
    }

    #[cfg(feature = "fuzz")]
    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        let nonce = Nonce::of_bytes(*b"\0\x01\x0f\x10\xffabcdefghijk");
        assert_eq!(nonce.as_str(), "00010f10ff6162636465666768696a6b");
    }
}
