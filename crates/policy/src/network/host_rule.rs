use std::{borrow::Cow, fmt, net::IpAddr, num::NonZeroU16, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Hosts that may be reached, as `HOST` or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    hosts: Hosts,
    /// None for any.
    port: Option<NonZeroU16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    /// `*`
    Any,
    /// `*.example.org`: the suffix, with its dot.
    Below(String),
    /// One host.
    One(Host),
}

/// Name of this machine: a rule for it leads to loopback.
pub(super) const LOCALHOST: &str = "localhost";

/// A host as a command names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name, in lower case and without a dot at its end.
    Name(String),
    /// An address; an IPv4 address never as the IPv6 address that it is mapped to.
    Address(IpAddr),
}

/// Why a text is no rule for hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a host like \"api.example.com:443\", \"*.example.org\", \"192.0.2.1\" or \"[2001:db8::1]:80\""
)]
pub struct InvalidHostRule(pub String);

impl Host {
    /// Reads a host, an IPv6 address in brackets or without. None where it is neither an address nor a name of letters, digits,
    /// `-` and `_` (RFC 1123, and what is in use).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok()?;
            return Some(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        is_name(name).then(|| Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// Whether each label has 1 to 63 characters and all together have at most 253. What looks like an address in another form, as
/// `127.1` or `0x7f000001`, is no name: the last label of one isn't a number (RFC 3696, 2).
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|c: char| c.is_ascii_digit())
        && last.trim_start_matches("0x").bytes().all(|byte| byte.is_ascii_hexdigit())
        && (last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()));
    text.len() <= 253 && text.split('.').all(is_label) && !is_number
}

impl HostRule {
    /// Whether a rule lets a host be reached at a port. A rule for a name doesn't hold for addresses.
    #[must_use]
    pub fn matches(&self, host: &Host, port: u16) -> bool {
        let is_host = match (&self.hosts, host) {
            (Hosts::Any, Host::Name(_)) => true,
            (Hosts::Below(suffix), Host::Name(name)) => is_below(suffix, name),
            (Hosts::One(one), host) => one == host,
            (Hosts::Any | Hosts::Below(_), Host::Address(_)) => false,
        };
        is_host && self.port.is_none_or(|own| own.get() == port)
    }

    /// Whether the rule names one host, which is this one.
    #[must_use]
    pub(super) fn names(&self, host: &Host) -> bool {
        matches!(&self.hosts, Hosts::One(one) if one == host)
    }

    /// Returns its host, where it names one, and its port; no port stands for all.
    pub(super) fn one(&self) -> Option<(&Host, Option<u16>)> {
        match &self.hosts {
            Hosts::One(host) => Some((host, self.port.map(NonZeroU16::get))),
            Hosts::Any | Hosts::Below(_) => None,
        }
    }

    /// Whether everything that `other` lets be reached this rule does, too.
    #[must_use]
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let hosts = match (&self.hosts, &other.hosts) {
            // By no other rule does this name lead to this machine.
            (Hosts::Any, Hosts::One(Host::Name(name))) => name != LOCALHOST,
            (Hosts::Any, Hosts::Any | Hosts::Below(_)) => true,
            (Hosts::Below(suffix), Hosts::Below(other)) => other.ends_with(suffix.as_str()),
            (Hosts::Below(suffix), Hosts::One(Host::Name(name))) => is_below(suffix, name),
            (Hosts::One(one), Hosts::One(other)) => one == other,
            _ => false,
        };
        hosts && (self.port.is_none() || self.port == other.port)
    }
}

/// `*` takes at least one character.
fn is_below(suffix: &str, name: &str) -> bool {
    name.len() > suffix.len() && name.ends_with(suffix)
}

impl FromStr for HostRule {
    type Err = InvalidHostRule;

    fn from_str(text: &str) -> Result<Self, InvalidHostRule> {
        let invalid = || InvalidHostRule(text.to_owned());
        // An IPv6 address without brackets has more colons than one, and no port.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                let digits = port.bytes().all(|byte| byte.is_ascii_digit());
                let port = port.parse().ok().filter(|_| digits).ok_or_else(invalid)?;
                (host, Some(port))
            }
            _ => (text, None),
        };
        let hosts = match host.strip_prefix("*.") {
            _ if host == "*" => Hosts::Any,
            None => Hosts::One(Host::parse(host).ok_or_else(invalid)?),
            Some(rest) => match Host::parse(rest) {
                Some(Host::Name(name)) => Hosts::Below(format!(".{name}")),
                _ => return Err(invalid()),
            },
        };
        Ok(Self { hosts, port })
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Any => f.write_str("*")?,
            Hosts::Below(suffix) => write!(f, "*{suffix}")?,
            Hosts::One(host) => host.fmt(f)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for HostRule {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name, `*.` and a name, or an address, with `:` and a port or for all ports.",
            "type": "string",
            "examples": ["api.example.com:443", "*.example.org"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> HostRule {
        text.parse().unwrap()
    }

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for text in [
            "api.example.com:443",
            "*.example.org",
            "*",
            "*:443",
            "192.0.2.1:80",
            "[2001:db8::1]:80",
            "[::1]",
        ] {
            assert_eq!(rule(text).to_string(), text);
        }
        assert_eq!(rule("API.example.com.").to_string(), "api.example.com");
        assert_eq!(rule("2001:db8::1").to_string(), "[2001:db8::1]");
        assert_eq!(rule("[::ffff:192.0.2.1]:80").to_string(), "192.0.2.1:80");
        for wrong in [
            "",
            ":",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a:http",
            "a b",
            "a..b",
            "-.*",
            "*a",
            "a.*",
            "*.*",
            "http://a",
            "a/b",
            "*.192.0.2.1",
            "[a]",
            "[192.0.2.1]",
            "127.1",
            "0x7f000001",
            "2130706433",
            "1.2.3.0x4",
            "[::1",
            "é.example",
        ] {
            assert_eq!(wrong.parse::<HostRule>(), Err(InvalidHostRule(wrong.to_owned())));
        }
    }

    #[test]
    fn a_rule_matches_what_it_names() {
        let matches =
            |text: &str, host: &str, port| rule(text).matches(&Host::parse(host).unwrap(), port);
        assert!(matches("api.example.com:443", "api.example.com", 443));
        assert!(matches("api.example.com:443", "API.Example.com.", 443));
        assert!(!matches("api.example.com:443", "api.example.com", 80));
        assert!(!matches("api.example.com", "example.com", 443));
        assert!(!matches("api.example.com", "x.api.example.com", 443));
        assert!(matches("*.example.org", "a.b.example.org", 8080));
        assert!(!matches("*.example.org", "example.org", 443));
        assert!(!matches("*.example.org", "badexample.org", 443));
        assert!(!matches("*.example.org", "a.example.org.evil.com", 443));
        assert!(matches("*:443", "anything.test", 443));
        assert!(!matches("*", "192.0.2.1", 443), "an address is named itself");
        assert!(matches("192.0.2.1", "::ffff:192.0.2.1", 443));
    }

    #[test]
    fn a_rule_covers_what_is_narrower() {
        let covers = |outer: &str, inner: &str| rule(outer).covers(&rule(inner));
        assert!(covers("*", "*.example.org:443"));
        assert!(covers("*.example.org", "a.example.org"));
        assert!(covers("*.example.org", "*.a.example.org:1"));
        assert!(covers("a.example", "a.example:443"));
        assert!(!covers("a.example:443", "a.example"));
        assert!(!covers("*.example.org", "example.org"));
        assert!(!covers("*.example.org", "*.badexample.org"));
        assert!(!covers("*.a.example.org", "*.example.org"));
        assert!(!covers("*", "192.0.2.1"));
        assert!(covers("*", "a.example") && !covers("*", "localhost:80"));
        assert!(covers("localhost", "localhost:80"));
        assert!(!covers("a.example", "*"));
    }
}
