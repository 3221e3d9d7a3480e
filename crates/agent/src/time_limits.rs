use std::{str::FromStr, time::Duration};

/// How long a client may take nothing of what is to be written to it, by default.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest silence of a command's pipes, once its process has ended, after which its output is complete, by default.
pub(crate) const OUTPUT_SILENCE: Duration = Duration::from_millis(200);

/// How long the agent waits for others. Tests that meet one of these shorten or lengthen it, by an option that the help leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimits {
    /// How long processes may take to end after SIGTERM, when the agent stops.
    pub(crate) grace_period: Duration,
    /// How long a stream may be silent: proxies close one that is so for long.
    pub(crate) ping_interval: Duration,
    /// How long a client may take nothing of what is to be written to it.
    pub(crate) stall_timeout: Duration,
    /// How long all clients may read nothing when the agent ends.
    pub(crate) shutdown_idle_timeout: Duration,
    /// How long clients that go on reading may take when the agent ends.
    pub(crate) shutdown_read_timeout: Duration,
    /// Longest silence of a command's pipes, once its process has ended, after which its output is complete.
    pub(crate) output_silence: Duration,
    /// How long the runtime keeps a thread that has nothing to do.
    pub(crate) idle_thread_timeout: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            grace_period: Duration::from_secs(10),
            ping_interval: Duration::from_secs(15),
            stall_timeout: STALL_TIMEOUT,
            shutdown_idle_timeout: Duration::from_secs(1),
            shutdown_read_timeout: Duration::from_secs(30),
            output_silence: OUTPUT_SILENCE,
            idle_thread_timeout: Duration::from_secs(10),
        }
    }
}

impl TimeLimits {
    /// The limits with these in place of their defaults.
    pub(crate) fn with(changes: &[TimeLimit]) -> Self {
        let mut limits = Self::default();
        for TimeLimit { name, duration } in changes {
            let limit = match name {
                Name::GracePeriod => &mut limits.grace_period,
                Name::PingInterval => &mut limits.ping_interval,
                Name::StallTimeout => &mut limits.stall_timeout,
                Name::ShutdownIdleTimeout => &mut limits.shutdown_idle_timeout,
                Name::ShutdownReadTimeout => &mut limits.shutdown_read_timeout,
                Name::OutputSilence => &mut limits.output_silence,
                Name::IdleThreadTimeout => &mut limits.idle_thread_timeout,
            };
            *limit = *duration;
        }
        limits
    }
}

/// A time limit in place of its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    name: Name,
    duration: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    GracePeriod,
    PingInterval,
    StallTimeout,
    ShutdownIdleTimeout,
    ShutdownReadTimeout,
    OutputSilence,
    IdleThreadTimeout,
}

const NAMES: [(&str, Name); 7] = [
    ("grace-period", Name::GracePeriod),
    ("ping-interval", Name::PingInterval),
    ("stall-timeout", Name::StallTimeout),
    ("shutdown-idle-timeout", Name::ShutdownIdleTimeout),
    ("shutdown-read-timeout", Name::ShutdownReadTimeout),
    ("output-silence", Name::OutputSilence),
    ("idle-thread-timeout", Name::IdleThreadTimeout),
];

/// A text is not `NAME=DURATION`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is NAME=DURATION with one of these names: {names}", names = NAMES.map(|(name, _)| name).join(", "))]
pub struct InvalidTimeLimit;

impl FromStr for TimeLimit {
    type Err = InvalidTimeLimit;

    fn from_str(text: &str) -> Result<Self, InvalidTimeLimit> {
        let (name, duration) = text.split_once('=').ok_or(InvalidTimeLimit)?;
        let known = NAMES.into_iter().find(|(known, _)| *known == name);
        let (_, name) = known.ok_or(InvalidTimeLimit)?;
        let duration = humantime::parse_duration(duration).map_err(|_| InvalidTimeLimit)?;
        if duration.is_zero() { Err(InvalidTimeLimit) } else { Ok(Self { name, duration }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_their_defaults_unless_another_is_given() {
        let milliseconds = |limits: TimeLimits| {
            [
                limits.grace_period,
                limits.ping_interval,
                limits.stall_timeout,
                limits.shutdown_idle_timeout,
                limits.shutdown_read_timeout,
                limits.output_silence,
                limits.idle_thread_timeout,
            ]
            .map(|limit| limit.as_millis())
        };
        let defaults = [10_000, 15_000, 30_000, 1000, 30_000, 200, 10_000];
        assert_eq!(milliseconds(TimeLimits::with(&[])), defaults);
        let changes: Vec<_> = NAMES
            .iter()
            .zip(1..)
            .map(|((name, _), given)| format!("{name}={given}ms").parse().unwrap())
            .collect();
        assert_eq!(milliseconds(TimeLimits::with(&changes)), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_limit_has_a_known_name_and_a_duration() {
        for wrong in ["", "stall-timeout", "stall=1s", "stall-timeout=", "stall-timeout=0s", "=1s"]
        {
            assert_eq!(wrong.parse::<TimeLimit>(), Err(InvalidTimeLimit), "{wrong}");
        }
    }
}
