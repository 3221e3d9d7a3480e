//! What commands have in their environment.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{tokens::has_token, wildcard};

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
    // Of 1Password, Bitwarden, and of registries of images.
    "OP_SESSION_*",
    "BW_SESSION",
    "DOCKER_AUTH_CONFIG",
];

/// Variables by which programs outside of the sandbox are reached: multiplexers, displays, buses, agents of keys, editors.
const PROGRAMS: &[&str] = &[
    "TMUX",
    "TMUX_PANE",
    "STY",
    "ZELLIJ*",
    "XAUTHORITY",
    "ICEAUTHORITY",
    "SESSION_MANAGER",
    "WAYLAND_*",
    "DBUS_*_ADDRESS",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "GNOME_KEYRING_CONTROL",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "VSCODE_*IPC*",
    "SWAYSOCK",
    "I3SOCK",
    "KITTY_LISTEN_ON",
    "WEZTERM_UNIX_SOCKET",
];

/// Returns whether a variable is likely a secret, as its name or its value tells, or leads to a program outside.
#[must_use]
pub(crate) fn is_withheld(name: &[u8], value: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    SECRETS.iter().chain(PROGRAMS).any(|known| wildcard::matches(known.as_bytes(), &name))
        || has_url_with_password(value)
        || has_private_key(value)
        || has_token(value)
}

/// Returns whether `scheme://user:password@host` is somewhere in a value (RFC 3986, 3.2.1). The user may be empty.
fn has_url_with_password(value: &[u8]) -> bool {
    const MARK: &[u8] = b"://";
    let is_end = |byte: &u8| b"/?#\\\"'`<>,; \t\r\n".contains(byte);
    let mut rest = value;
    while let Some(at) = rest.windows(MARK.len()).position(|window| window == MARK) {
        let (scheme, behind) = rest.split_at(at);
        rest = behind.get(MARK.len()..).unwrap_or_default();
        let authority = rest.split(is_end).next().unwrap_or_default();
        let user_info = authority.rsplitn(2, |byte| *byte == b'@').nth(1).unwrap_or_default();
        let password = user_info.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default();
        if !password.is_empty() && scheme.last().is_some_and(u8::is_ascii_alphanumeric) {
            return true;
        }
    }
    false
}

/// Returns whether a value has a private key in PEM (RFC 7468).
fn has_private_key(value: &[u8]) -> bool {
    const MARK: &[u8] = b"PRIVATE KEY-----";
    value.starts_with(b"-----BEGIN ") && value.windows(MARK.len()).any(|window| window == MARK)
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
    fn secrets_and_ways_out_are_told_by_their_names() {
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
            "OP_SESSION_my",
            "BW_SESSION",
            "DOCKER_AUTH_CONFIG",
            "TMUX",
            "XAUTHORITY",
            "DBUS_SESSION_BUS_ADDRESS",
            "VSCODE_GIT_IPC_HANDLE",
        ] {
            assert!(is_withheld(secret.as_bytes(), b"x"), "{secret}");
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
            "DESKTOP_SESSION",
            "DOCKER_CONFIG",
            "DISPLAY",
            "STYLE",
            "NVIM_APPNAME",
            "VSCODE_PID",
        ] {
            assert!(!is_withheld(other.as_bytes(), b"x"), "{other}");
        }
    }

    #[test]
    fn secrets_are_told_by_their_values() {
        for secret in [
            "postgres://me:secret@db.example/app",
            "https://user:pass@proxy.example:3128",
            "redis://:secret@cache.example:6379/0",
            "https://me@example.com:secret@registry.example/",
            "-Durl=jdbc:postgresql://me:secret@db.example/app -Dx=1",
            "https://open.example/,https://me:secret@closed.example,direct",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
        ] {
            assert!(is_withheld(b"X", secret.as_bytes()), "{secret}");
        }
        for other in [
            "",
            "https://example.com:8080/a@b:c",
            "https://git@example.com/a.git",
            "https://me:@example.com/",
            "git@example.com:a/b.git",
            "http://[::1]:8080/",
            "a:b@c",
            "://a:b@c",
            "file:///a:b@c",
            "https://a.example/ me:b@c",
            "-----BEGIN CERTIFICATE-----",
        ] {
            assert!(!is_withheld(b"X", other.as_bytes()), "{other}");
        }
    }
}
