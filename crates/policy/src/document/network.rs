use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, value::MapAccessDeserializer},
    ser::SerializeMap,
};

use crate::network::HostRule;

/// What commands reach of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing but themselves.
    #[default]
    None,
    /// Everything that this machine reaches, itself included.
    Host,
    /// These hosts, by way of a proxy.
    Allow(Vec<HostRule>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowList {
    allow: Vec<HostRule>,
}

struct NetworkVisitor;

impl<'de> de::Visitor<'de> for NetworkVisitor {
    type Value = Network;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"none\", \"host\" or { \"allow\": [\"api.example.com:443\"] }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Network, E> {
        match text {
            "none" => Ok(Network::None),
            "host" => Ok(Network::Host),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Network, A::Error> {
        let AllowList { allow } = AllowList::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Network::Allow(allow))
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NetworkVisitor)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Host => serializer.serialize_str("host"),
            Self::Allow(rules) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("allow", rules)?;
                map.end()
            }
        }
    }
}

impl JsonSchema for Network {
    fn schema_name() -> Cow<'static, str> {
        "Network".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What commands reach of the network: nothing, everything that this machine reaches, or some hosts by way of a proxy.",
            "anyOf": [
                { "enum": ["none", "host"] },
                {
                    "type": "object",
                    "properties": { "allow": generator.subschema_for::<Vec<HostRule>>() },
                    "required": ["allow"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
