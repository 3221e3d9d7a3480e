use std::{fmt, net::IpAddr};

use super::{Host, HostRule, Reserved, host_rule::LOCALHOST, reserved};

/// What a command wants to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The host, as the command names it.
    pub host: Host,
    /// The port of TCP.
    pub port: u16,
}

impl Destination {
    /// Reads `HOST:PORT`. None where it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        if host.contains(':') && !host.starts_with('[') || !port.bytes().all(|b| b.is_ascii_digit())
        {
            return None;
        }
        let port = port.parse().ok().filter(|port| *port != 0)?;
        Some(Self { host: Host::parse(host)?, port })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Why a command doesn't reach what it wants to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No rule names it.
    #[error("no rule of the policy's network.allow names {0}")]
    NotNamed(Destination),
    /// The name leads to an address that is reserved, and that no rule names.
    #[error(
        "{destination} is {address}, {reserved}, which a rule of network.allow has to name itself"
    )]
    Reserved {
        /// What the command wants to reach.
        destination: Destination,
        /// The address to which the name leads.
        address: IpAddr,
        /// What it is reserved for.
        reserved: Reserved,
    },
}

/// The rule that lets a command reach what it names, before the name is looked up.
///
/// # Errors
///
/// There is none.
pub fn check_name<'a>(
    rules: &'a [HostRule],
    destination: &Destination,
) -> Result<&'a HostRule, Refusal> {
    let Destination { host, port } = destination;
    let rule = rules.iter().find(|rule| rule.matches(host, *port));
    rule.ok_or_else(|| Refusal::NotNamed(destination.clone()))
}

/// Whether a command may reach an address that a name leads to, which [`check_name`] has let pass; `is_own` where it is one of this
/// machine's.
///
/// # Errors
///
/// It is reserved. An address that a rule names may be reached, and by the name `localhost`, where a rule names that, this machine.
pub fn check_address(
    rules: &[HostRule],
    destination: &Destination,
    address: IpAddr,
    is_own: bool,
) -> Result<(), Refusal> {
    let address = address.to_canonical();
    let own = is_own.then_some(Reserved::Loopback);
    let Some(reserved) = reserved(address).or(own) else {
        return Ok(());
    };
    let Destination { host, port } = destination;
    let is_address_named = rules.iter().any(|rule| rule.matches(&Host::Address(address), *port));
    let is_localhost = reserved == Reserved::Loopback
        && *host == Host::Name(LOCALHOST.to_owned())
        && rules.iter().any(|rule| rule.names(host) && rule.matches(host, *port));
    if is_address_named || is_localhost {
        return Ok(());
    }
    Err(Refusal::Reserved { destination: destination.clone(), address, reserved })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &[&str], destination: &str, address: &str) -> Result<(), Refusal> {
        check_that(rules, destination, address, false)
    }

    fn check_that(
        rules: &[&str],
        destination: &str,
        address: &str,
        is_own: bool,
    ) -> Result<(), Refusal> {
        let rules: Vec<HostRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let destination = Destination::parse(destination).unwrap();
        check_name(&rules, &destination)?;
        check_address(&rules, &destination, address.parse().unwrap(), is_own)
    }

    #[test]
    fn a_destination_has_a_host_and_a_port() {
        for text in ["example.org:443", "192.0.2.1:80", "[2001:db8::1]:80"] {
            assert_eq!(Destination::parse(text).unwrap().to_string(), text);
        }
        for wrong in ["", "a", "a:", "a:0", "a:+1", "a:99999", "::1", "::1:80", ":80", "a b:80"] {
            assert_eq!(Destination::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_in_the_list_is_reached_and_no_other() {
        let rules = ["api.example.com:443", "*.example.org"];
        assert_eq!(check(&rules, "api.example.com:443", "192.0.2.1"), Ok(()));
        assert_eq!(check(&rules, "a.example.org:22", "10.0.0.1"), Ok(()));
        for other in ["api.example.com:80", "example.org:443", "192.0.2.1:443", "localhost:443"] {
            let error = check(&rules, other, "192.0.2.1").unwrap_err().to_string();
            assert_eq!(error, format!("no rule of the policy's network.allow names {other}"));
        }
    }

    #[test]
    fn a_name_does_not_lead_to_a_reserved_address() {
        for rules in [&["evil.example"][..], &["*"], &["*.example", "evil.example:80"]] {
            for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0"] {
                let error = check(rules, "evil.example:80", address).unwrap_err();
                assert!(matches!(error, Refusal::Reserved { .. }), "{address}: {error}");
            }
        }
        assert!(check(&["*"], "localhost:80", "127.0.0.1").is_err());
    }

    #[test]
    fn an_address_of_this_machine_is_reached_only_where_it_is_named() {
        let own = |rules: &[&str]| check_that(rules, "a.example:80", "192.0.2.1", true);
        let error = own(&["*"]).unwrap_err().to_string();
        assert!(error.starts_with("a.example:80 is 192.0.2.1, this machine, which"), "{error}");
        assert_eq!(own(&["*", "192.0.2.1:80"]), Ok(()));
        assert_eq!(check_that(&["localhost"], "localhost:80", "192.0.2.1", true), Ok(()));
    }

    #[test]
    fn a_reserved_address_that_is_named_is_reached() {
        assert_eq!(check(&["127.0.0.1:5432"], "127.0.0.1:5432", "127.0.0.1"), Ok(()));
        assert_eq!(check(&["db", "127.0.0.1:5432"], "db:5432", "::ffff:127.0.0.1"), Ok(()));
        assert!(check(&["db", "127.0.0.1:5432"], "db:80", "127.0.0.1").is_err());
        assert_eq!(check(&["localhost:80"], "localhost:80", "::1"), Ok(()));
        assert!(check(&["localhost:80"], "localhost:80", "169.254.169.254").is_err());
    }
}
