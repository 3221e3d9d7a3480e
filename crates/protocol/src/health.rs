use serde::{Deserialize, Serialize};

use crate::json::{FromJson, Problem, Value};

/// Who answers, and what it can do beyond the base interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Health {
    /// The agent's name: `sandpipe-agent`.
    pub agent: String,
    /// The agent's version.
    pub version: String,
    /// What commands may touch: the name of a preset (`open`: everything that the agent may), or `custom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The extensions that it offers. A client uses none that is not named here.
    #[serde(default)]
    pub features: Vec<String>,
}

impl FromJson for Health {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        let names_features = value.find("features")?.is_some();
        Ok(Self {
            agent: value.field("agent")?,
            version: value.field("version")?,
            policy: value.field("policy")?,
            features: if names_features { value.field("features")? } else { Vec::new() },
        })
    }
}
