use std::{collections::BTreeSet, str::FromStr};

/// What the agent can do beyond the base interface. A client uses only what `/health` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A create that is repeated with the same key gives the same exec.
    IdempotencyKey,
    /// Signals go to an exec's whole process group.
    Signal,
    /// Standard input can be closed.
    StdinEof,
    /// Standard input can be sent as bytes, of any number.
    StdinBytes,
    /// A reader is told of events that the agent does not have any more.
    Gap,
    /// A WebSocket's output is numbered, and its input is answered.
    Attach,
    /// A create can be answered with the stream of the output.
    CreateStream,
    /// The stream of the list tells what has changed.
    ListChanges,
    /// The stream of the list gives signs of life as often as is asked for.
    Heartbeat,
    /// Output can be had in binary frames, with the process's bytes as they are.
    Frames,
    /// A stop reaches all that a command has started, unless its create says otherwise.
    Contain,
    /// A create may name a policy that is narrower than the agent's.
    Policy,
    /// Files and directories can be read, written and listed.
    Files,
    /// Files can be read and written as they are, in parts, and as trees.
    FilesRaw,
    /// What changes in a directory is told.
    Watch,
    /// The ports that are listened on are listed.
    Ports,
    /// Connections to ports go through a WebSocket.
    PortForward,
    /// Tokens that may do a part of all for a while.
    ScopedTokens,
}

impl Feature {
    const ALL: [Self; 18] = [
        Self::IdempotencyKey,
        Self::Signal,
        Self::StdinEof,
        Self::StdinBytes,
        Self::Gap,
        Self::Attach,
        Self::CreateStream,
        Self::ListChanges,
        Self::Heartbeat,
        Self::Frames,
        Self::Contain,
        Self::Policy,
        Self::Files,
        Self::FilesRaw,
        Self::Watch,
        Self::Ports,
        Self::PortForward,
        Self::ScopedTokens,
    ];

    /// Its name in `/health`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency-key",
            Self::Signal => "signal",
            Self::StdinEof => "stdin-eof",
            Self::StdinBytes => "stdin-bytes",
            Self::Gap => "gap",
            Self::Attach => "attach",
            Self::CreateStream => "create-stream",
            Self::ListChanges => "list-changes",
            Self::Heartbeat => "heartbeat",
            Self::Frames => "frames",
            Self::Contain => "contain",
            Self::Policy => "policy",
            Self::Files => "files",
            Self::FilesRaw => "files-raw",
            Self::Watch => "watch",
            Self::Ports => "ports",
            Self::PortForward => "port-forward",
            Self::ScopedTokens => "scoped-tokens",
        }
    }
}

/// A feature to turn off, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// Every feature: what is left is the base interface.
    All,
    /// One of them.
    One(Feature),
}

impl FromStr for Without {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let found = Feature::ALL.into_iter().find(|feature| feature.name() == text);
        found.map(Self::One).ok_or_else(|| {
            let names = Feature::ALL.map(Feature::name).join(", ");
            format!("the features are {names}; all stands for every one of them")
        })
    }
}

/// The features that are turned on.
#[derive(Clone, Debug)]
pub(crate) struct Features(BTreeSet<Feature>);

impl Features {
    pub(crate) fn without(off: &[Without]) -> Self {
        let is_off = |feature: &Feature| {
            off.contains(&Without::All) || off.contains(&Without::One(*feature))
        };
        Self(Feature::ALL.into_iter().filter(|feature| !is_off(feature)).collect())
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.0.contains(&feature)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|feature| feature.name().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_turned_off_by_name() {
        let names = |off: &[&str]| {
            let off: Vec<_> = off.iter().map(|name| name.parse().unwrap()).collect();
            Features::without(&off).names()
        };
        assert_eq!(names(&[]), Feature::ALL.map(Feature::name));
        assert_eq!(
            names(&["signal", "gap"]),
            [
                "idempotency-key",
                "stdin-eof",
                "stdin-bytes",
                "attach",
                "create-stream",
                "list-changes",
                "heartbeat",
                "frames",
                "contain",
                "policy",
                "files",
                "files-raw",
                "watch",
                "ports",
                "port-forward",
                "scoped-tokens"
            ]
        );
        assert_eq!(names(&["all"]), [] as [&str; 0]);
        assert!("nonsense".parse::<Without>().unwrap_err().contains("stdin-eof"));
    }
}
