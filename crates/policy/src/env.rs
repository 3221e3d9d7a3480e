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

/// Names that look like those of secrets and are not: settings of what keeps secrets, and keys for
/// everybody.
const NO_SECRETS: &[&str] = &[
    "PASSWORD_STORE_*",
    "*CREDENTIAL_HELPER",
    "*CREDENTIAL_STORE",
    "*CREDENTIALS_STORE",
    "*PUBLIC_KEY",
    "*PUBLIC_KEYS",
    "*PUBLISHABLE_KEY",
];

/// Names of no secrets if the value is an amount, such as `MAX_TOKENS` of a model and
/// `PASSWORD_MIN_LENGTH`.
const AMOUNTS: &[&str] = &[
    "*TOKENS",
    "*_AGE",
    "*_COUNT",
    "*_DAYS",
    "*_EXPIRATION",
    "*_EXPIRES_IN",
    "*_EXPIRY",
    "*_HOURS",
    "*_LENGTH",
    "*_LIFETIME",
    "*_LIMIT",
    "*_MINUTES",
    "*_MS",
    "*_RETRIES",
    "*_ROUNDS",
    "*_SECONDS",
    "*_SIZE",
    "*_TIME",
    "*_TIMEOUT",
    "*_TTL",
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
    let is_in =
        |names: &[&str]| names.iter().any(|known| wildcard::matches(known.as_bytes(), &name));
    let is_harmless =
        || is_in(NO_SECRETS) || is_switch(value) || (is_in(AMOUNTS) && is_amount(value));
    (is_in(SECRETS) && !is_harmless())
        || is_in(PROGRAMS)
        || has_url_with_password(value)
        || has_private_key(value)
        || has_token(value)
}

/// Returns whether a value turns something on or off. An empty one may stand for one that is not
/// known.
fn is_switch(value: &[u8]) -> bool {
    let switches = ["0", "1", "false", "no", "off", "on", "true", "yes"];
    switches.iter().any(|switch| value.eq_ignore_ascii_case(switch.as_bytes()))
}

/// Returns whether a value is a number of at most nine digits, with a unit of at most two letters,
/// such as `32k`.
fn is_amount(value: &[u8]) -> bool {
    const MOST_DIGITS: usize = 9;
    let value = value.strip_prefix(b"-").unwrap_or(value);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit = value.get(digits..).unwrap_or_default();
    (1..=MOST_DIGITS).contains(&digits)
        && unit.len() <= 2
        && unit.iter().all(u8::is_ascii_alphabetic)
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
    fn settings_whose_names_look_like_secrets_are_none() {
        for (name, value) in [
            ("MAX_TOKENS", "4096"),
            ("MAX_NEW_TOKENS", "-1"),
            ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "32k"),
            ("max_tokens", "1"),
            ("PASSWORD_MIN_LENGTH", "12"),
            ("API_KEY_TTL", "30d"),
            ("PASSWORD_STORE_DIR", "/data/store"),
            ("PASSWORD_STORE_KEY", "0xABCD"),
            ("GCM_CREDENTIAL_STORE", "cache"),
            ("JWT_PUBLIC_KEY", "-----BEGIN PUBLIC KEY-----"),
            ("STRIPE_PUBLISHABLE_KEY", "pk_live_x"),
            ("npm_config_always_auth", "true"),
            ("SKIP_PASSWORD", "1"),
        ] {
            assert!(!is_withheld(name.as_bytes(), value.as_bytes()), "{name}={value}");
        }
        for (name, value) in [
            ("MAX_TOKENS", "a1b2c3,d4e5f6"),
            ("MAX_TOKENS", ""),
            ("API_TOKENS", "12345678901"),
            ("MAX_TOKEN", "4096"),
            ("GITHUB_TOKEN", "4096"),
            ("PGPASSWORD", "123456"),
            ("API_KEY_LIMIT", "secret"),
            ("PASSWORD_STORE_KEY", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
            ("MY_PRIVATE_KEY", "x"),
            ("PASSWORD", ""),
        ] {
            assert!(is_withheld(name.as_bytes(), value.as_bytes()), "{name}={value}");
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
