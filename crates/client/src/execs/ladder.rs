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
