use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Destination, Host, HostRule, host_rule::LOCALHOST};
use crate::walls::PROXY_PORT;

/// Way out of a sandbox for programs that use no proxy: what they reach at an address of its
/// loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Address and port inside.
    pub listen: SocketAddr,
    /// Host and port that it leads to.
    pub destination: Destination,
}

/// Ports of SSH, HTTP and HTTPS: those of a rule for a name without a port.
const USUAL_PORTS: [u16; 3] = [22, 80, 443];
/// First port that commands can listen on, who have no capabilities (`ip_unprivileged_port_start`).
const FIRST_OF_COMMANDS: u16 = 1024;
/// Names get the addresses behind this one, which nothing else uses.
const NAMES: u32 = Ipv4Addr::new(127, 83, 0, 0).to_bits();
/// Most names that get an address.
const MAX_NAMES: u32 = 256;

/// Lists what programs reach without the proxy: the ports of loopback that rules name, and the
/// ports of names at which no server of a command can want to listen.
#[must_use]
pub fn forwards(rules: &[HostRule]) -> Vec<Forward> {
    let mut forwards = Vec::new();
    let mut names: Vec<&Host> = Vec::new();
    for (host, port) in rules.iter().filter_map(HostRule::one) {
        let (addresses, ports) = match host {
            Host::Address(address) if address.is_loopback() => (vec![*address], port.as_slice()),
            Host::Address(_) => continue,
            // No other program uses the proxy for these (`NO_PROXY`).
            Host::Name(name) if name == LOCALHOST => {
                (vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()], port.as_slice())
            }
            Host::Name(_) => {
                if port.is_some_and(|port| port >= FIRST_OF_COMMANDS) {
                    continue;
                }
                if !names.contains(&host) {
                    names.push(host);
                }
                let Some(address) = address_of(&names, host) else { continue };
                (vec![address], port.as_ref().map_or(&USUAL_PORTS[..], std::slice::from_ref))
            }
        };
        for (address, port) in
            addresses.iter().flat_map(|address| ports.iter().map(move |port| (address, port)))
        {
            let listen = SocketAddr::new(*address, *port);
            let is_proxy = listen == SocketAddr::from((Ipv4Addr::LOCALHOST, PROXY_PORT));
            let is_taken = forwards.iter().any(|forward: &Forward| forward.listen == listen);
            if !is_proxy && !is_taken {
                let destination = Destination { host: host.clone(), port: *port };
                forwards.push(Forward { listen, destination });
            }
        }
    }
    forwards
}

fn address_of(names: &[&Host], host: &Host) -> Option<IpAddr> {
    let index = names.iter().position(|name| *name == host)?;
    let index = u32::try_from(index).ok().filter(|index| *index < MAX_NAMES)?;
    Some(Ipv4Addr::from_bits(NAMES + 1 + index).into())
}

/// Writes lines for `/etc/hosts` (hosts(5)) that lead programs to these forwards.
#[must_use]
pub fn host_lines(forwards: &[Forward]) -> String {
    let line = |Forward { listen, destination }: &Forward| match &destination.host {
        Host::Name(name) if name != LOCALHOST => Some(format!("{} {name}\n", listen.ip())),
        Host::Name(_) | Host::Address(_) => None,
    };
    let mut lines: Vec<String> = forwards.iter().filter_map(line).collect();
    // A name has a forward for each of its ports.
    lines.sort();
    lines.dedup();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rules: &[&str]) -> Vec<Forward> {
        forwards(&rules.iter().map(|rule| rule.parse().unwrap()).collect::<Vec<_>>())
    }

    fn ways(rules: &[&str]) -> Vec<String> {
        of(rules)
            .iter()
            .map(|forward| format!("{} {}", forward.listen, forward.destination))
            .collect()
    }

    #[test]
    fn ports_of_loopback_are_forwarded_where_a_rule_names_them() {
        assert_eq!(ways(&["127.0.0.1:80"]), ["127.0.0.1:80 127.0.0.1:80"]);
        assert_eq!(ways(&["[::1]:5432"]), ["[::1]:5432 [::1]:5432"]);
        assert_eq!(ways(&["127.0.0.7:81"]), ["127.0.0.7:81 127.0.0.7:81"]);
        let both = ["127.0.0.1:80 localhost:80", "[::1]:80 localhost:80"];
        assert_eq!(ways(&["localhost:80", "localhost:80"]), both);
        // The first rule for an address decides; both let the other's host be reached.
        assert_eq!(ways(&["127.0.0.1:80", "localhost:80"])[0], "127.0.0.1:80 127.0.0.1:80");
        for rule in ["127.0.0.1", "localhost", "127.0.0.1:57469", "10.0.0.1:80", "[2001:db8::1]:1"]
        {
            assert_eq!(ways(&[rule]), [""; 0], "{rule}");
        }
    }

    #[test]
    fn names_are_forwarded_at_ports_that_commands_can_not_listen_on() {
        let rules = ["a.example:443", "b.example", "a.example:80", "c.example:8080", "*.d.example"];
        assert_eq!(
            ways(&rules),
            [
                "127.83.0.1:443 a.example:443",
                "127.83.0.2:22 b.example:22",
                "127.83.0.2:80 b.example:80",
                "127.83.0.2:443 b.example:443",
                "127.83.0.1:80 a.example:80",
            ]
        );
        let lines = host_lines(&of(&["a.example:443", "b.example", "localhost:80", "127.0.0.1:1"]));
        assert_eq!(lines, "127.83.0.1 a.example\n127.83.0.2 b.example\n");
    }
}
