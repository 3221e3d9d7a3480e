use std::collections::BTreeMap;

use serde::Serialize;

use super::Preset;
use crate::{
    document::{Extend, Limits, Network, Policy},
    env::NamePattern,
    files::{Access, FileRule, IfMissing, Origin},
};

/// What presets and a policy say together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effective {
    /// The presets that it is made of, each behind those that it extends.
    #[serde(serialize_with = "names")]
    pub presets: Vec<Preset>,
    /// All rules for files.
    pub files: Vec<FileRule>,
    /// What commands reach of the network.
    pub network: Network,
    /// Whether they may make Unix sockets.
    pub unix_sockets: bool,
    /// The variables that they get from the agent's environment.
    pub pass: Vec<NamePattern>,
    /// Variables and their values.
    pub set: BTreeMap<String, String>,
    /// What they may use.
    pub limits: Limits,
    /// Whether they run although not all limits can be held.
    pub best_effort: bool,
}

fn names<S: serde::Serializer>(presets: &[Preset], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(presets.iter().map(|preset| preset.name()))
}

/// `"!name"` takes out a preset that is not in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("extends: \"!{0}\" takes out a preset that is not in; in are {1}")]
pub struct NotExtended(Preset, String);

/// Puts a policy together with the presets that it extends: rules for files add up, the hosts of several lists too; of all else the
/// later is taken, and what the policy itself says last.
///
/// # Errors
///
/// It takes out a preset that is not in.
pub fn effective(policy: &Policy) -> Result<Effective, NotExtended> {
    let presets = presets(policy.extends.as_deref().unwrap_or(&[Extend::With(Preset::Workspace)]))?;
    let own = [
        (Access::Write, &policy.files.write),
        (Access::Read, &policy.files.read),
        (Access::Hide, &policy.files.hide),
    ];
    let own = own.into_iter().flat_map(|(access, paths)| {
        paths.iter().map(move |path| FileRule {
            access,
            path: path.clone(),
            origin: Origin::Policy,
            if_missing: IfMissing::Fail,
        })
    });
    let networks = presets.iter().filter_map(|preset| preset.network());
    let networks = networks.chain(policy.network.clone());
    let env = presets.iter().filter_map(|preset| preset.env()).chain(policy.env.pass.clone());
    Ok(Effective {
        files: presets.iter().flat_map(|preset| preset.files()).chain(own).collect(),
        network: networks.fold(Network::None, later_network),
        unix_sockets: policy.unix_sockets.unwrap_or(true),
        pass: env.last().unwrap_or_default(),
        set: policy.env.set.clone(),
        limits: policy.limits.clone(),
        best_effort: policy.best_effort.unwrap_or(false),
        presets,
    })
}

fn later_network(earlier: Network, later: Network) -> Network {
    match (earlier, later) {
        (Network::Allow(mut hosts), Network::Allow(more)) => {
            hosts.extend(more);
            Network::Allow(hosts)
        }
        (_, later) => later,
    }
}

/// The presets that are meant, each once and behind those that it extends. What is taken out is so wherever it stands.
fn presets(extends: &[Extend]) -> Result<Vec<Preset>, NotExtended> {
    fn add(preset: Preset, presets: &mut Vec<Preset>) {
        for extended in preset.extends() {
            add(*extended, presets);
        }
        if !presets.contains(&preset) {
            presets.push(preset);
        }
    }
    let mut presets = Vec::new();
    for extend in extends {
        if let Extend::With(preset) = extend {
            add(*preset, &mut presets);
        }
    }
    for extend in extends {
        let Extend::Without(taken_out) = extend else {
            continue;
        };
        if !presets.contains(taken_out) {
            let names = presets.iter().map(|preset| preset.name()).collect::<Vec<_>>().join(", ");
            return Err(NotExtended(*taken_out, names));
        }
        presets.retain(|preset| preset != taken_out);
    }
    if presets.contains(&Preset::Commits) {
        presets.retain(|preset| *preset != Preset::Git);
    }
    Ok(presets)
}

impl Effective {
    /// The policy that a preset is by itself.
    #[must_use]
    pub fn of(preset: Preset) -> Self {
        let policy = Policy { extends: Some(vec![Extend::With(preset)]), ..Policy::default() };
        // Nothing is taken out.
        effective(&policy).unwrap_or_else(|_| Self::nothing())
    }

    fn nothing() -> Self {
        Self {
            presets: Vec::new(),
            files: Vec::new(),
            network: Network::None,
            unix_sockets: true,
            pass: Vec::new(),
            set: BTreeMap::new(),
            limits: Limits::default(),
            best_effort: false,
        }
    }

    /// Whether commands are to be behind walls: unless they may write every file, reach everything and make Unix sockets. Limits alone are none.
    #[must_use]
    pub fn has_walls(&self) -> bool {
        let is_open = |rule: &FileRule| {
            rule.origin == Origin::Preset(Preset::Open) || rule.access == Access::Write
        };
        !self.presets.contains(&Preset::Open)
            || !self.files.iter().all(is_open)
            || self.network != Network::Host
            || !self.unix_sockets
    }

    /// Its name, for people: that of a preset where it is nothing else, otherwise `custom`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let is = |preset: &&Preset| Self::of(**preset) == *self;
        Preset::ALL.iter().find(is).map_or("custom", |preset| preset.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::parse;

    fn of(text: &str) -> Effective {
        effective(&parse(text).unwrap()).unwrap()
    }

    #[test]
    fn a_policy_adds_to_workspace_unless_it_says_otherwise() {
        assert_eq!(of("{}"), Effective::of(Preset::Workspace));
        assert_eq!(of("{}").name(), "workspace");
        assert_eq!(of(r#"{ "extends": [] }"#), Effective::nothing());
        assert_eq!(of(r#"{ "extends": ["strict"] }"#).name(), "strict");
        assert_eq!(of(r#"{ "files": { "write": ["./a"] } }"#).name(), "custom");
    }

    #[test]
    fn presets_are_made_of_parts_that_can_be_taken_out() {
        use Preset::{
            Caches, Commits, Git, Offline, Secrets, Strict, System, ToolSettings, Workspace,
        };
        assert_eq!(of("{}").presets, [System, Secrets, Git, Caches, ToolSettings, Workspace]);
        let offline = of(r#"{ "extends": ["offline", "!git"] }"#);
        assert_eq!(offline.presets, [System, Secrets, Caches, ToolSettings, Workspace, Offline]);
        assert!(!offline.files.iter().any(|rule| rule.origin == Origin::Preset(Git)));
        let both = of(r#"{ "extends": ["!caches", "strict", "workspace"] }"#);
        assert_eq!(both.presets, [System, Secrets, Git, Strict, ToolSettings, Workspace]);
        let commits = of(r#"{ "extends": ["commits", "workspace"] }"#);
        assert_eq!(commits.presets, [Commits, System, Secrets, Caches, ToolSettings, Workspace]);
        let policy = parse(r#"{ "extends": ["strict", "!caches"] }"#).unwrap();
        assert_eq!(
            effective(&policy).unwrap_err().to_string(),
            r#"extends: "!caches" takes out a preset that is not in; in are system, secrets, git, strict"#
        );
    }

    #[test]
    fn rules_add_up_and_of_the_rest_the_later_is_taken() {
        let policy = of(r#"{
            "extends": ["offline", "workspace"],
            "files": { "write": ["./dist"], "read": ["~/shared"], "hide": ["**/.env"] },
            "network": { "allow": ["a.example"] },
            "env": { "pass": ["PATH"], "set": { "TZ": "UTC" } }
        }"#);
        assert_eq!(policy.files.len(), of("{}").files.len() + 3);
        let own = policy.files.iter().filter(|rule| rule.origin == Origin::Policy);
        let own: Vec<_> = own.map(ToString::to_string).collect();
        assert_eq!(
            own,
            ["write ./dist (policy)", "read ~/shared (policy)", "hide **/.env (policy)"]
        );
        assert_eq!(policy.network, Network::Allow(vec!["a.example".parse().unwrap()]));
        assert_eq!(policy.pass, ["PATH".parse().unwrap()]);
        assert_eq!(policy.set["TZ"], "UTC");
        assert_eq!(of(r#"{ "extends": ["workspace", "offline"] }"#).network, Network::None);
    }

    #[test]
    fn only_open_has_no_walls() {
        for preset in Preset::ALL {
            assert_eq!(Effective::of(preset).has_walls(), preset != Preset::Open, "{preset}");
        }
        assert!(!of(r#"{ "extends": ["open"], "limits": { "memory": "1 GiB" } }"#).has_walls());
        assert!(of(r#"{ "extends": ["open"], "files": { "hide": ["~/.ssh"] } }"#).has_walls());
        assert!(of(r#"{ "extends": ["open"], "network": "none" }"#).has_walls());
        assert!(of(r#"{ "extends": [], "network": "host" }"#).has_walls());
    }

    proptest! {
        #[test]
        fn every_preset_is_in_once_behind_what_it_extends(
            chosen in prop::collection::vec(prop::sample::select(Preset::ALL.to_vec()), 0..6)
        ) {
            let extends: Vec<_> = chosen.iter().copied().map(Extend::With).collect();
            let presets = presets(&extends).unwrap();
            let is_replaced =
                |preset: &Preset| *preset == Preset::Git && chosen.contains(&Preset::Commits);
            for (index, preset) in presets.iter().enumerate() {
                prop_assert!(!presets[..index].contains(preset));
                for extended in preset.extends() {
                    prop_assert!(presets[..index].contains(extended) || is_replaced(extended));
                }
            }
            let is_in = |preset: &Preset| presets.contains(preset) || is_replaced(preset);
            prop_assert!(chosen.iter().all(is_in));
        }
    }
}
