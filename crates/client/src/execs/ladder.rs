//! The stop ladder: SIGTERM, a grace period, SIGKILL. It decides; it sends and waits for nothing.

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rung {
    /// SIGTERM to the whole group: a process may tidy up, or refuse.
    Terminate,
    /// SIGKILL to the whole group: no process can refuse.
    Kill,
}

impl Rung {
    /// The name of its signal.
    pub(crate) fn signal(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }
}

/// What moves one up the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Someone wants the command stopped.
    Stop,
    /// Someone wants it stopped now.
    Force,
    /// The grace period is over.
    GraceOver,
}

/// Where one is on the ladder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ladder {
    rung: Option<Rung>,
}

impl Ladder {
    /// The rung to take now, if there is another one.
    #[must_use]
    pub(crate) fn advance(&mut self, trigger: Trigger) -> Option<Rung> {
        let next = match (self.rung, trigger) {
            (None, Trigger::Stop) => Rung::Terminate,
            (None | Some(Rung::Terminate), Trigger::Force)
            | (Some(Rung::Terminate), Trigger::Stop | Trigger::GraceOver) => Rung::Kill,
            (None, Trigger::GraceOver) | (Some(Rung::Kill), _) => return None,
        };
        self.rung = Some(next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn climb(triggers: &[Trigger]) -> Vec<Rung> {
        let mut ladder = Ladder::default();
        triggers.iter().filter_map(|trigger| ladder.advance(*trigger)).collect()
    }

    #[test]
    fn goes_gently_first() {
        assert_eq!(climb(&[Trigger::Stop]), [Rung::Terminate]);
    }

    #[test]
    fn kills_when_the_grace_period_is_over() {
        let triggers = [Trigger::Stop, Trigger::GraceOver];
        assert_eq!(climb(&triggers), [Rung::Terminate, Rung::Kill]);
    }

    #[test]
    fn a_second_stop_forces() {
        let triggers = [Trigger::Stop, Trigger::Stop, Trigger::Stop, Trigger::GraceOver];
        assert_eq!(climb(&triggers), [Rung::Terminate, Rung::Kill]);
    }

    #[test]
    fn force_skips_what_is_gentle() {
        assert_eq!(climb(&[Trigger::Force, Trigger::Stop]), [Rung::Kill]);
    }

    proptest! {
        #[test]
        fn only_goes_up_and_kills_at_most_once(
            triggers in prop::collection::vec(
                prop::sample::select(vec![Trigger::Stop, Trigger::Force, Trigger::GraceOver]),
                0..20,
            ),
        ) {
            let rungs = climb(&triggers);
            prop_assert!(matches!(
                rungs[..],
                [] | [Rung::Terminate | Rung::Kill] | [Rung::Terminate, Rung::Kill]
            ));
        }
    }
}
