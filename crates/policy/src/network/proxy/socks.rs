use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::request::{Next, Outcome, Protocol, Request};
use crate::network::{Destination, Host};

pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

const NOT_ALLOWED: u8 = 2;
const HOST_UNREACHABLE: u8 = 4;
const COMMAND_NOT_SUPPORTED: u8 = 7;
const ADDRESS_NOT_SUPPORTED: u8 = 8;

/// The methods that a program offers (RFC 1928, 3).
pub(super) fn greeting(buffer: &mut Vec<u8>) -> Next {
    let [_, count, rest @ ..] = buffer.as_slice() else {
        return Next::Read;
    };
    let Some((methods, rest)) = rest.split_at_checked((*count).into()) else {
        return Next::Read;
    };
    if !methods.contains(&NO_AUTHENTICATION) {
        return Next::Close(vec![VERSION, NO_METHOD]);
    }
    *buffer = rest.to_vec();
    Next::Reply(vec![VERSION, NO_AUTHENTICATION])
}

/// What it asks for (RFC 1928, 4).
pub(super) fn request(buffer: &[u8]) -> Next {
    let [_, command, _, kind, rest @ ..] = buffer else {
        return Next::Read;
    };
    if *command != CONNECT {
        return Next::Close(reply(COMMAND_NOT_SUPPORTED));
    }
    let (host, rest) = match (kind, rest) {
        (1, [a, b, c, d, rest @ ..]) => {
            (Some(Host::Address(IpAddr::V4(Ipv4Addr::new(*a, *b, *c, *d)))), rest)
        }
        (3, [len, rest @ ..]) => {
            let Some((name, rest)) = rest.split_at_checked((*len).into()) else {
                return Next::Read;
            };
            (str::from_utf8(name).ok().and_then(Host::parse), rest)
        }
        (4, rest) => {
            let Some((address, rest)) = rest.split_first_chunk::<16>() else {
                return Next::Read;
            };
            (Some(Host::Address(IpAddr::V6(Ipv6Addr::from(*address)).to_canonical())), rest)
        }
        (1 | 3, _) => return Next::Read,
        _ => return Next::Close(reply(ADDRESS_NOT_SUPPORTED)),
    };
    let Some((port, rest)) = rest.split_first_chunk::<2>() else {
        return Next::Read;
    };
    match (host, u16::from_be_bytes(*port)) {
        (Some(host), port) if port != 0 => Next::Connect(Request {
            destination: Destination { host, port },
            first: rest.to_vec(),
            protocol: Protocol::Socks,
        }),
        _ => Next::Close(reply(ADDRESS_NOT_SUPPORTED)),
    }
}

/// Without the address that was connected from, which is nobody's business (RFC 1928, 6).
fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

pub(super) fn answer(outcome: Outcome<'_>) -> Vec<u8> {
    reply(match outcome {
        Outcome::Connected => 0,
        Outcome::Refused(_) => NOT_ALLOWED,
        Outcome::Failed(_) => HOST_UNREACHABLE,
    })
}
