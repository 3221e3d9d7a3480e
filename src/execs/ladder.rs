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
    pub(crate) fn signal(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }
}

/// What moves one up the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
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
    pub(crate) fn push(&mut self, push: Push) -> Option<Rung> {
        let next = match (self.rung, push) {
            (None, Push::Stop) => Rung::Terminate,
            (None | Some(Rung::Terminate), Push::Force)
            | (Some(Rung::Terminate), Push::Stop | Push::GraceOver) => Rung::Kill,
            (None, Push::GraceOver) | (Some(Rung::Kill), _) => return None,
        };
        self.rung = Some(next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn climb(pushes: &[Push]) -> Vec<Rung> {
        let mut ladder = Ladder::default();
        pushes.iter().filter_map(|push| ladder.push(*push)).collect()
    }

    #[test]
    fn goes_gently_first() {
        assert_eq!(climb(&[Push::Stop]), [Rung::Terminate]);
    }

    #[test]
    fn kills_when_the_grace_period_is_over() {
        let pushes = [Push::Stop, Push::GraceOver];
        assert_eq!(climb(&pushes), [Rung::Terminate, Rung::Kill]);
    }

    #[test]
    fn a_second_stop_forces() {
        let pushes = [Push::Stop, Push::Stop, Push::Stop, Push::GraceOver];
        assert_eq!(climb(&pushes), [Rung::Terminate, Rung::Kill]);
    }

    #[test]
    fn force_skips_what_is_gentle() {
        assert_eq!(climb(&[Push::Force, Push::Stop]), [Rung::Kill]);
    }

    proptest! {
        #[test]
        fn only_goes_up_and_kills_at_most_once(
            pushes in prop::collection::vec(
                prop::sample::select(vec![Push::Stop, Push::Force, Push::GraceOver]),
                0..20,
            ),
        ) {
            let rungs = climb(&pushes);
            prop_assert!(matches!(
                rungs[..],
                [] | [Rung::Terminate | Rung::Kill] | [Rung::Terminate, Rung::Kill]
            ));
        }
    }
}
