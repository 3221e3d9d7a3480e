use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is reserved for, so that it is reached only where a policy names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reserved {
    /// This machine.
    #[error("this machine")]
    Loopback,
    /// Machines on the same link, as a rule the metadata of a cloud's machine.
    #[error("the local link")]
    LinkLocal,
    /// What tells a cloud's machine its credentials.
    #[error("the metadata of a cloud's machine")]
    Metadata,
    /// No single host.
    #[error("no single host")]
    NotUnicast,
}

/// Services with the metadata of machines whose addresses are not link-local: Alibaba Cloud, Azure, Oracle Cloud.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Those of Google Cloud and Scaleway.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// What an address is reserved for, by itself or by the IPv4 address that it leads to. None for all others, which includes those of
/// private networks (RFC 1918, RFC 4193): a name in an allow-list may well be one of the network at home.
#[must_use]
pub fn reserved(address: IpAddr) -> Option<Reserved> {
    match address {
        IpAddr::V4(address) => reserved_v4(address),
        IpAddr::V6(address) => {
            reserved_v6(address).or_else(|| embedded_v4(address).and_then(reserved_v4))
        }
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<Reserved> {
    // RFC 1122, 3.2.1.3: "this host on this network"; Linux connects to itself.
    if address.is_loopback() || address.octets()[0] == 0 {
        Some(Reserved::Loopback)
    } else if METADATA_V4.contains(&address) {
        Some(Reserved::Metadata)
    } else if address.is_link_local() {
        Some(Reserved::LinkLocal)
    } else if address.is_multicast() || address.octets()[0] >= 240 {
        Some(Reserved::NotUnicast)
    } else {
        None
    }
}

fn reserved_v6(address: Ipv6Addr) -> Option<Reserved> {
    if address.is_loopback() || address.is_unspecified() {
        Some(Reserved::Loopback)
    // AWS has several services in fd00:ec2::/32, as 169.254.0.0/16: metadata, credentials of pods, names, time.
    } else if METADATA_V6.contains(&address) || address.segments().starts_with(&[0xfd00, 0xec2]) {
        Some(Reserved::Metadata)
    // And the site-local ones of old (RFC 3879).
    } else if address.is_unicast_link_local() || address.segments()[0] & 0xffc0 == 0xfec0 {
        Some(Reserved::LinkLocal)
    } else if address.is_multicast() {
        Some(Reserved::NotUnicast)
    } else {
        None
    }
}

/// The IPv4 address in an IPv6 address that is mapped from it or compatible with it (RFC 4291, 2.5.5), or that a translator
/// (RFC 6052, RFC 8215) or a 6to4 relay (RFC 3056) leads to it.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, _, _, _, _, high, low] => {
            Some(v4(high, low))
        }
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_reserved_are_known_in_every_form() {
        use Reserved::{LinkLocal, Loopback, Metadata, NotUnicast};
        for (text, expected) in [
            ("127.0.0.1", Some(Loopback)),
            ("127.255.0.1", Some(Loopback)),
            ("0.0.0.0", Some(Loopback)),
            ("::", Some(Loopback)),
            ("::1", Some(Loopback)),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::127.0.0.1", Some(Loopback)),
            ("64:ff9b::127.0.0.1", Some(Loopback)),
            ("64:ff9b:1::169.254.169.254", Some(LinkLocal)),
            ("2002:7f00:1::", Some(Loopback)),
            ("169.254.169.254", Some(LinkLocal)),
            ("::ffff:169.254.169.254", Some(LinkLocal)),
            ("fe80::1", Some(LinkLocal)),
            ("fec0::1", Some(LinkLocal)),
            ("fd00:ec2::254", Some(Metadata)),
            ("fd00:ec2::23", Some(Metadata)),
            ("fd00:ec2:ffff::1", Some(Metadata)),
            ("fd00:ec3::254", None),
            ("fd20:ce::254", Some(Metadata)),
            ("fd00:42::42", Some(Metadata)),
            ("100.100.100.200", Some(Metadata)),
            ("::ffff:168.63.129.16", Some(Metadata)),
            ("224.0.0.1", Some(NotUnicast)),
            ("255.255.255.255", Some(NotUnicast)),
            ("ff02::1", Some(NotUnicast)),
            ("10.0.0.1", None),
            ("192.0.2.1", None),
            ("fd12::1", None),
            ("2001:db8::1", None),
            ("::ffff:192.0.2.1", None),
        ] {
            assert_eq!(reserved(text.parse().unwrap()), expected, "{text}");
        }
    }
}
