use std::{fmt, str::FromStr};

/// A policy that has a name, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// No walls: commands have the agent's rights.
    Open,
    /// The workspace and caches of builds may be written, the rest of the machine read, without secrets; the network is the machine's.
    Workspace,
    /// `workspace` without network.
    Offline,
    /// The workspace may be read only; no network, and few variables in the environment.
    Strict,
    /// A part: the machine may be read; directories for what is temporary are the commands' own; what other programs are reached by
    /// is not there.
    System,
    /// A part: secrets in the home are not there.
    Secrets,
    /// A part: repositories of git can't be written.
    Git,
    /// Takes the place of `git`: commands may commit, and what git runs by itself of a repository can't be written.
    Commits,
    /// A part: the caches of builds may be written.
    Caches,
    /// A part: settings in the workspace that other programs execute can't be written.
    ToolSettings,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Open,
        Self::Workspace,
        Self::Offline,
        Self::Strict,
        Self::System,
        Self::Secrets,
        Self::Git,
        Self::Commits,
        Self::Caches,
        Self::ToolSettings,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Workspace => "workspace",
            Self::Offline => "offline",
            Self::Strict => "strict",
            Self::System => "system",
            Self::Secrets => "secrets",
            Self::Git => "git",
            Self::Commits => "commits",
            Self::Caches => "caches",
            Self::ToolSettings => "tool-settings",
        }
    }

    /// Asks ` (did you mean strict?)` about a name that is a preset's but for a few letters; says nothing about others.
    #[must_use]
    pub fn did_you_mean(name: &str) -> String {
        let distance = |preset: &Self| strsim::damerau_levenshtein(preset.name(), name);
        let nearest = Self::ALL.into_iter().min_by_key(distance);
        let nearest = nearest.filter(|preset| {
            // Short names are near to any.
            distance(preset) <= MAX_DIFFERENCE.min(preset.name().len() / 2)
        });
        nearest.map_or_else(String::new, |preset| format!(" (did you mean {preset}?)"))
    }

    /// All names, for messages.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

/// There is no such preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no preset {0:?}{did_you_mean}: the presets are {names}", did_you_mean = Preset::did_you_mean(.0), names = Preset::names())]
pub struct UnknownPreset(pub String);

/// How much a name may differ from that of a preset that is meant, in letters.
const MAX_DIFFERENCE: usize = 2;

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        let preset = Self::ALL.into_iter().find(|preset| preset.name() == text);
        preset.ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_read_by_its_name() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        let error = "opne".parse::<Preset>().unwrap_err().to_string();
        let told =
            "there is no preset \"opne\" (did you mean open?): the presets are open, workspace,";
        assert!(error.starts_with(told), "{error}");
    }

    #[test]
    fn a_preset_that_is_misspelt_is_asked_about() {
        for (name, meant) in
            [("stirct", "strict"), ("comits", "commits"), ("worksapce", "workspace")]
        {
            assert_eq!(Preset::did_you_mean(name), format!(" (did you mean {meant}?)"));
        }
        for other in ["", "g", "x.json", "none", "policy"] {
            assert_eq!(Preset::did_you_mean(other), "");
        }
    }
}
