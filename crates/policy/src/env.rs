//! What commands have in their environment.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::wildcard;

/// The name of a variable, in which `*` is any part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

/// It is no name of a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a variable: it is not empty and has no \"=\" and no NUL")]
pub struct InvalidName(String);

impl NamePattern {
    /// All variables.
    #[must_use]
    pub fn any() -> Self {
        Self("*".to_owned())
    }

    /// Whether a variable is meant.
    #[must_use]
    pub fn matches(&self, name: &[u8]) -> bool {
        wildcard::matches(self.0.as_bytes(), name)
    }

    /// The name, where it is a single one.
    #[must_use]
    pub(crate) fn exact(&self) -> Option<&str> {
        (!self.0.contains('*')).then_some(self.0.as_str())
    }

    /// Whether all variables that `other` means are meant: true only if this is certain.
    #[must_use]
    pub(crate) fn covers(&self, other: &Self) -> bool {
        wildcard::matches(self.0.as_bytes(), other.0.as_bytes())
    }
}

/// What names of secrets look like, in capitals.
const SECRETS: &[&str] = &[
    "*TOKEN",
    "*TOKENS",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*_PASS",
    "*_PWD",
    "*CREDENTIAL*",
    "*_KEY",
    "*_KEYS",
    "*_KEY_ID",
    "*APIKEY*",
    "*API_KEY*",
    "*PRIVATE_KEY*",
    "*_PAT",
    "*_AUTH",
    "*_COOKIE",
    "*_DSN",
    "*_CONNECTION_STRING",
    "*_WEBHOOK_URL",
    "DATABASE_URL",
    "*_DATABASE_URL",
];

/// Whether a variable is likely a secret, as its name tells.
#[must_use]
pub(crate) fn looks_secret(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    SECRETS.iter().any(|secret| wildcard::matches(secret.as_bytes(), &name))
}

impl FromStr for NamePattern {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() || text.contains(['=', '\0']) {
            return Err(InvalidName(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for NamePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for NamePattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for NamePattern {
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[^=]+$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_by_their_names() {
        for secret in [
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SESSION_TOKEN",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "MYSQL_PWD",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "DATABASE_URL",
            "npm_config_//registry.example/:_authToken",
        ] {
            assert!(looks_secret(secret.as_bytes()), "{secret}");
        }
        for other in [
            "PATH",
            "PWD",
            "OLDPWD",
            "HOME",
            "LS_COLORS",
            "TOKENIZERS_PARALLELISM",
            "AWS_REGION",
            "GIT_ASKPASS",
            "XDG_SESSION_ID",
            "KEYBOARD",
            "HTTPS_PROXY",
        ] {
            assert!(!looks_secret(other.as_bytes()), "{other}");
        }
    }
}
