use std::path::{Path, PathBuf};

use super::{Effective, Preset};
use crate::{
    document::{Limits, Network},
    files::{Access, FileRule, Places},
};

/// A policy and the places that its rules mean, to be compared with another.
#[derive(Clone, Copy, Debug)]
pub struct Narrowable<'a> {
    /// The policy.
    pub policy: &'a Effective,
    /// The places of its rules.
    pub places: &'a Places,
}

/// Where the file system of cgroups of version 2 is: on a hybrid machine it is the second place.
pub const CGROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// What a policy lets commands do that another doesn't.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wider {
    /// It gives more of the files.
    #[error("files: {path} is \"{inner}\", where the agent's policy has \"{outer}\"", path = .path.display())]
    Files {
        /// At this path.
        path: PathBuf,
        /// It gives this.
        inner: Access,
        /// The other gives this.
        outer: Access,
    },
    /// It lacks a rule that may come to mean more places than it means now.
    #[error("files.{access}: the rule for {path} of the agent's policy is missing")]
    MissingRule {
        /// What the rule says.
        access: Access,
        /// Its path.
        path: String,
    },
    /// It hides the cgroups, by which named pipes of other programs are closed to commands.
    #[error("files: {0} is hidden, so commands could write named pipes of other programs")]
    NamedPipes(&'static str),
    /// Another field is wider.
    #[error("{0} is wider than in the agent's policy")]
    Field(&'static str),
}

impl Wider {
    /// The path of the field that is wider, like `files` or `limits.memory`.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Files { .. } | Self::MissingRule { .. } | Self::NamedPipes(_) => "files",
            Self::Field(field) => field,
        }
    }
}

impl Narrowable<'_> {
    /// Whether commands may do nothing under this policy that they may not under `outer`.
    ///
    /// # Errors
    ///
    /// They may, or it can't be ruled out.
    pub fn check_within(&self, outer: &Self) -> Result<(), Wider> {
        if let Some(path) = self.places.wider_than(outer.places) {
            return Err(Wider::Files {
                path: path.to_owned(),
                inner: self.places.access_when_made(path),
                outer: outer.places.access_when_made(path),
            });
        }
        for place in CGROUPS {
            let hides = |policy: &Self| policy.places.access(Path::new(place)) == Access::Hide;
            if hides(self) && !hides(outer) {
                return Err(Wider::NamedPipes(place));
            }
        }
        // The next time it means what will have been made by then.
        let most = self.policy.files.iter().map(|rule| rule.access).max();
        let is_missing = |rule: &&FileRule| {
            let narrows = most > Some(rule.access) && rule.path.has_wildcard();
            let has = |own: &FileRule| own.path == rule.path && own.access <= rule.access;
            narrows && !self.policy.files.iter().any(has)
        };
        if let Some(rule) = outer.policy.files.iter().find(is_missing) {
            return Err(Wider::MissingRule { access: rule.access, path: rule.path.to_string() });
        }
        let (inner, outer) = (self.policy, outer.policy);
        // Sockets of other programs are there under it, wherever they are.
        let is_open = |policy: &Effective| policy.presets.contains(&Preset::Open);
        if is_open(inner) && !is_open(outer) {
            return Err(Wider::Field("extends"));
        }
        if !is_within(&inner.network, &outer.network) {
            return Err(Wider::Field("network"));
        }
        if inner.unix_sockets && !outer.unix_sockets {
            return Err(Wider::Field("unixSockets"));
        }
        if !inner.passes_within(outer) {
            return Err(Wider::Field("env.pass"));
        }
        if let Some(field) = inner.limits.wider_than(&outer.limits) {
            return Err(Wider::Field(field));
        }
        if inner.best_effort && !outer.best_effort && outer.limits != Limits::default() {
            return Err(Wider::Field("bestEffort"));
        }
        Ok(())
    }
}

fn is_within(inner: &Network, outer: &Network) -> bool {
    match (inner, outer) {
        (Network::None, _) | (_, Network::Host) => true,
        (Network::Allow(inner), Network::Allow(outer)) => {
            inner.iter().all(|rule| outer.iter().any(|outer| outer.covers(rule)))
        }
        (Network::Allow(hosts), Network::None) => hosts.is_empty(),
        (Network::Host, _) => false,
    }
}

#[cfg(test)]
#[path = "../../tests/support/needs.rs"]
mod needs;
#[cfg(test)]
#[path = "../../tests/support/visible.rs"]
mod visible;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        needs::needs,
        visible::{NO_VISIBLE_DIRECTORY, visible_directory},
        *,
    };
    use crate::{
        document::parse,
        effective::effective,
        files::{Roots, expand},
    };

    fn can_run() -> bool {
        needs(visible_directory().is_some(), NO_VISIBLE_DIRECTORY)
    }

    /// What is wider in `inner`, in a workspace with `a` and `a/b`, and an empty home.
    fn wider(inner: &str, outer: &str) -> Option<String> {
        let directory = visible_directory().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("workspace/a/b")).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        let roots = Roots {
            workspace: root.join("workspace"),
            homes: vec![root.join("home")],
            protected: Vec::new(),
            homes_of_others: Vec::new(),
            secrets: Vec::new(),
            policy_file: None,
            stores: None,
            pnpm_store: None,
        };
        let [inner, outer] = [inner, outer].map(|text| effective(&parse(text).unwrap()).unwrap());
        let [inner_places, outer_places] =
            [&inner, &outer].map(|policy| expand(&policy.files, &roots).unwrap());
        let inner = Narrowable { policy: &inner, places: &inner_places };
        let outer = Narrowable { policy: &outer, places: &outer_places };
        inner
            .check_within(&outer)
            .err()
            .map(|wider| wider.to_string().replace(root.to_str().unwrap(), ""))
    }

    #[test]
    fn presets_are_narrower_in_their_order() {
        if !can_run() {
            return;
        }
        let presets = ["open", "workspace", "offline", "strict"];
        for (inner_index, inner) in presets.iter().enumerate() {
            for (outer_index, outer) in presets.iter().enumerate() {
                let [inner, outer] =
                    [inner, outer].map(|name| format!(r#"{{ "extends": ["{name}"] }}"#));
                let is_narrower = inner_index >= outer_index;
                assert_eq!(wider(&inner, &outer).is_none(), is_narrower, "{inner} in {outer}");
            }
        }
    }

    #[test]
    fn cgroups_are_not_hidden_on_a_hybrid_machine_either() {
        let [_, unified] = CGROUPS;
        if !can_run() || !Path::new(unified).exists() {
            return;
        }
        let hiding = format!(r#"{{ "files": {{ "hide": ["{unified}"] }} }}"#);
        let said = wider(&hiding, "{}").unwrap();
        assert!(said.starts_with("files: /sys/fs/cgroup/unified is hidden, so"), "{said}");
    }

    #[test]
    fn what_is_wider_is_named() {
        if !can_run() {
            return;
        }
        for (inner, outer, expected) in [
            (
                r#"{ "extends": ["workspace"] }"#,
                r#"{ "extends": ["strict"] }"#,
                "files: /workspace is \"write\", where the agent's policy has \"read\"",
            ),
            (
                "{}",
                r#"{ "files": { "read": ["./a"] } }"#,
                "files: /workspace/a is \"write\", where the agent's policy has \"read\"",
            ),
            (
                r#"{ "files": { "write": ["./a/b"] } }"#,
                r#"{ "files": { "read": ["./a"] } }"#,
                "files: /workspace/a/b is \"write\", where the agent's policy has \"read\"",
            ),
            (
                r#"{ "files": { "read": ["./a"], "write": ["./a/b"] } }"#,
                r#"{ "files": { "read": ["./a"] } }"#,
                "files: /workspace/a/b is \"write\", where the agent's policy has \"read\"",
            ),
            (
                "{}",
                r#"{ "files": { "hide": ["**/.env"] } }"#,
                "files.hide: the rule for **/.env of the agent's policy is missing",
            ),
            (
                r#"{ "files": { "hide": ["/sys/fs"] } }"#,
                "{}",
                "files: /sys/fs/cgroup is hidden, so",
            ),
            (r#"{ "extends": ["workspace", "!secrets"] }"#, "{}", "files: "),
            (
                r#"{ "extends": ["workspace", "!tool-settings"] }"#,
                "{}",
                "files: /workspace/.aider.conf.yml is \"write\", where",
            ),
            // A cache that is not there yet.
            (
                "{}",
                r#"{ "extends": ["workspace", "!caches"] }"#,
                "files: /home/.cache/bazel is \"write\", where",
            ),
            (
                r#"{ "network": { "allow": ["a.example"] } }"#,
                r#"{ "network": { "allow": ["a.example:443"] } }"#,
                "network is wider than in the agent's policy",
            ),
            (
                "{}",
                r#"{ "network": { "allow": ["*"] } }"#,
                "network is wider than in the agent's policy",
            ),
            (
                "{}",
                r#"{ "env": { "pass": ["LC_*"] } }"#,
                "env.pass is wider than in the agent's policy",
            ),
            (
                r#"{ "env": { "pass": ["API_KEY"] } }"#,
                "{}",
                "env.pass is wider than in the agent's policy",
            ),
            (
                "{}",
                r#"{ "limits": { "memory": "1 GiB" } }"#,
                "limits.memory is wider than in the agent's policy",
            ),
            (
                r#"{ "limits": { "cpu": 2 } }"#,
                r#"{ "limits": { "cpu": 1.5 } }"#,
                "limits.cpu is wider than in the agent's policy",
            ),
            (
                r#"{ "unixSockets": true }"#,
                r#"{ "unixSockets": false }"#,
                "unixSockets is wider than in the agent's policy",
            ),
            (
                r#"{ "limits": { "cpu": 1 }, "bestEffort": true }"#,
                r#"{ "limits": { "cpu": 1 } }"#,
                "bestEffort is wider than in the agent's policy",
            ),
        ] {
            let wider = wider(inner, outer).unwrap_or_default();
            assert!(
                wider.starts_with(expected) && !wider.is_empty(),
                "{inner} in {outer}: {wider}"
            );
        }
    }

    #[test]
    fn what_is_narrower_is_taken() {
        if !can_run() {
            return;
        }
        for (inner, outer) in [
            (r#"{ "files": { "hide": ["./a"] } }"#, "{}"),
            (
                r#"{ "files": { "read": ["./a"], "hide": ["./a/b"] } }"#,
                r#"{ "files": { "read": ["./a"] } }"#,
            ),
            (
                r#"{ "network": { "allow": ["x.a.example:443"] } }"#,
                r#"{ "network": { "allow": ["*.a.example"] } }"#,
            ),
            (
                r#"{ "env": { "pass": ["LC_ALL"], "set": { "A": "b" } } }"#,
                r#"{ "env": { "pass": ["LC_*"] } }"#,
            ),
            (
                r#"{ "limits": { "memory": "1 GiB", "output": 1 } }"#,
                r#"{ "limits": { "memory": "2 GiB" } }"#,
            ),
        ] {
            assert_eq!(wider(inner, outer), None, "{inner} in {outer}");
        }
    }
}
