use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Limits, Network};
use crate::{
    effective::{Preset, UnknownPreset},
    env::NamePattern,
    files::PathPattern,
};

/// What commands may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[serde(expecting = "an object like {\"extends\": [\"workspace\"]}")]
pub struct Policy {
    /// The address of this schema, for editors.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The presets that this policy adds to, and with `!` those of them that it leaves out. `["workspace"]` where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<Vec<Extend>>,
    /// Which files commands may read and write.
    pub files: Files,
    /// What commands reach of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Whether commands may make Unix sockets, as databases and terminal multiplexers do; connected pairs they may make in any case.
    /// `true` where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<bool>,
    /// What commands have in their environment.
    pub env: Env,
    /// What commands may use.
    pub limits: Limits,
    /// Whether commands run although this machine can't hold all limits. Files and network are held in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_effort: Option<bool>,
}

/// Which files commands may read and write. A path begins with `/`, with `~`, or in the workspace; `*` is any part of one
/// name, `**` any number of directories. The rule for the deepest place decides; at the same place `hide` before `read`
/// before `write`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Files {
    /// May be read and written, with all that is in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathPattern>,
    /// May be read, with all that is in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathPattern>,
    /// Are not there for commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<PathPattern>,
}

/// What commands have in their environment, besides what each is given when it is created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Env {
    /// The variables that they get from the agent's environment: names, in which `*` is any part. It takes the place of what
    /// the presets pass. What looks like a secret, such as `GITHUB_TOKEN`, they get only where its very name is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<Vec<NamePattern>>,
    /// Variables and their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

/// A preset that a policy adds to, or with `!` one that it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extend {
    /// `"name"`.
    With(Preset),
    /// `"!name"`.
    Without(Preset),
}

impl FromStr for Extend {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        match text.strip_prefix('!') {
            Some(name) => name.parse().map(Self::Without),
            None => text.parse().map(Self::With),
        }
    }
}

impl fmt::Display for Extend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::With(preset) => preset.fmt(f),
            Self::Without(preset) => write!(f, "!{preset}"),
        }
    }
}

impl Serialize for Extend {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Extend {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Extend {
    fn schema_name() -> Cow<'static, str> {
        "Extend".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let with = Preset::ALL.iter().map(|preset| Self::With(*preset).to_string());
        let without = Preset::ALL.iter().map(|preset| Self::Without(*preset).to_string());
        json_schema!({
            "description": "A preset that a policy adds to, or with `!` one that it leaves out.",
            "enum": with.chain(without).collect::<Vec<_>>()
        })
    }
}
