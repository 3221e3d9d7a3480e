//! When the agent read a piece of output.

use std::fmt;

/// A time in microseconds since 1970. It is written as RFC 3339 has it, in UTC with milliseconds: `2026-01-31T12:34:56.789Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(pub u64);

/// The last one that has four digits for its year: 9999-12-31T23:59:59.999999Z.
const LAST: u64 = 253_402_300_799_999_999;

impl Timestamp {
    /// The text of it.
    #[must_use]
    pub fn text(self) -> [u8; 24] {
        let millis = self.0.min(LAST) / 1000;
        // In 32 bits, which a WebAssembly engine divides several times as fast.
        let narrow = |number: u64| u32::try_from(number).unwrap_or_default();
        let (days, millis) = (narrow(millis / 86_400_000), narrow(millis % 86_400_000));
        let (seconds, millis) = (millis / 1000, millis % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let time = ((hour * 100 + minute) * 100 + second) * 1000 + millis;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (date_part, time_part) = text.split_at_mut("0000-00-00".len());
        write_digits(date_part, date(days));
        write_digits(time_part, time);
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text()))
    }
}

/// Writes a number in place of the digits of a text.
fn write_digits(text: &mut [u8], mut number: u32) {
    for place in text.iter_mut().rev().filter(|place| place.is_ascii_digit()) {
        *place = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

/// The date of so many days after 1970-01-01, as the number that its digits are.
///
/// A year begins with March here, so that the leap day is its last: then a month begins after 30.6 days for each before it, rounded.
fn date(days: u32) -> u32 {
    const DAYS_PER_400_YEARS: u32 = 146_097;
    // From 0000-03-01 on.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_PER_400_YEARS, days % DAYS_PER_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let month = if is_next_year { month - 9 } else { month + 3 };
    ((400 * era + year + u32::from(is_next_year)) * 100 + month) * 100 + day
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;

    use super::*;

    fn check(micros: u64) {
        let time = UNIX_EPOCH + Duration::from_micros(micros);
        let expected = humantime::format_rfc3339_millis(time).to_string();
        assert_eq!(Timestamp(micros).to_string(), expected);
    }

    #[test]
    fn every_day_of_400_years_is_written_as_humantime_does_it() {
        for day in 0..146_097 {
            check(day * 86_400_000_000 + 86_399_999_999);
        }
    }

    #[test]
    fn what_has_no_year_of_four_digits_is_the_last_that_has() {
        assert_eq!(Timestamp(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    proptest! {
        #[test]
        fn any_time_is_written_as_humantime_does_it(micros in 0..=LAST) {
            check(micros);
        }
    }
}
