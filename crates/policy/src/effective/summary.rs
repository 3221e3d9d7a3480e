use std::fmt::Display;

use serde::Serialize;

use super::{Effective, Preset};
use crate::{
    document::Network,
    files::{Access, Origin, TOOL_SETTINGS},
};

/// Policy in few words, for a model that works under it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Its name; `custom` where it is no preset.
    name: &'static str,
    /// What commands may write, but for caches of builds.
    write: Vec<String>,
    /// What they reach.
    network: NetworkSummary,
    /// What they may do with repositories of git.
    git: GitAccess,
    /// Names of tool settings that commands can't write where they were there before.
    settings: Vec<&'static str>,
}

/// What commands reach of the network.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum NetworkSummary {
    None,
    Host,
    Allow(Vec<String>),
}

/// Access to repositories of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum GitAccess {
    /// Reads.
    Read,
    /// Reads and commits.
    Commit,
    /// That of other files.
    Any,
}

impl Effective {
    /// Sums the policy up.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let is_told = |origin| origin != Origin::Preset(Preset::Caches);
        let write =
            self.files.iter().filter(|rule| rule.access == Access::Write && is_told(rule.origin));
        let git = if self.presets.contains(&Preset::Git) {
            GitAccess::Read
        } else if self.presets.contains(&Preset::Commits) {
            GitAccess::Commit
        } else {
            GitAccess::Any
        };
        let network = match &self.network {
            Network::None => NetworkSummary::None,
            Network::Host => NetworkSummary::Host,
            Network::Allow(hosts) => NetworkSummary::Allow(first_of(hosts)),
        };
        let settings = if self.presets.contains(&Preset::ToolSettings) {
            TOOL_SETTINGS.map(|setting| setting.name).to_vec()
        } else {
            Vec::new()
        };
        let write = first_of(write.map(|rule| &rule.path));
        Summary { name: self.name(), write, network, git, settings }
    }
}

/// More than a model has use for.
const MAX_NAMES: usize = 20;
const MAX_CHARS: usize = 200;

/// Names the first ones; a last `…` stands for others.
fn first_of(items: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    let mut items = items.into_iter();
    let first = items.by_ref().take(MAX_NAMES);
    let mut names: Vec<String> =
        first.map(|item| item.to_string().chars().take(MAX_CHARS).collect()).collect();
    names.extend(items.next().map(|_| "…".to_owned()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document::parse, effective::effective};

    #[test]
    fn names_what_commands_may_write_and_reach() {
        for (policy, summary) in [
            (
                "{}",
                r#"{"name":"workspace","write":["./"],"network":"host","git":"read","settings":[".mcp.json"]}"#,
            ),
            (
                r#"{ "extends": ["strict"], "files": { "write": ["dist", "~/x"] } }"#,
                r#"{"name":"custom","write":["dist","~/x"],"network":"none","git":"read","settings":[]}"#,
            ),
            (
                r#"{ "extends": ["commits"], "network": { "allow": ["a.example:443"] } }"#,
                r#"{"name":"custom","write":[],"network":{"allow":["a.example:443"]},"git":"commit","settings":[]}"#,
            ),
            (
                r#"{ "extends": ["open"] }"#,
                r#"{"name":"open","write":["/"],"network":"host","git":"any","settings":[]}"#,
            ),
        ] {
            let effective = effective(&parse(policy).unwrap()).unwrap();
            let mut found = effective.summary();
            found.settings.truncate(1);
            assert_eq!(serde_json::to_string(&found).unwrap(), summary, "{policy}");
        }
    }

    #[test]
    fn names_the_first_of_many() {
        let names = first_of(0..1000);
        assert_eq!(names.len(), MAX_NAMES + 1);
        assert_eq!((names[0].as_str(), names[MAX_NAMES].as_str()), ("0", "…"));
        assert_eq!(first_of(["x".repeat(1000)])[0].len(), MAX_CHARS);
    }
}
