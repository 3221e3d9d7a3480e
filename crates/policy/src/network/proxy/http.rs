use super::request::{Next, Outcome, Request};
use crate::network::Destination;

/// Headers that are for the proxy (RFC 9110, 7.6.1), and `Host`, which is made anew (RFC 9112, 3.2.2).
const FOR_THE_PROXY: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "host",
];

pub(super) fn request(buffer: &[u8]) -> Next {
    let Some((head, rest)) = split_head(buffer) else {
        return Next::Read;
    };
    let request = str::from_utf8(head).ok().and_then(|head| parse(head, rest));
    request.map_or_else(|| Next::Close(bad_request()), Next::Connect)
}

/// Parts the head of a request from what is behind its empty line. A line may end without a carriage return (RFC 9112, 2.2).
fn split_head(buffer: &[u8]) -> Option<(&[u8], &[u8])> {
    let ends = buffer.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    for end in ends {
        let (head, rest) = buffer.split_at_checked(end + 1)?;
        for empty in [&b"\r\n"[..], b"\n"] {
            if let Some(rest) = rest.strip_prefix(empty) {
                return Some((head, rest));
            }
        }
    }
    None
}

fn parse(head: &str, rest: &[u8]) -> Option<Request> {
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_request = words.next().is_none()
        && !method.is_empty()
        && method.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        && target.bytes().all(|byte| byte.is_ascii_graphic())
        && matches!(version, "HTTP/1.0" | "HTTP/1.1");
    if !is_request {
        return None;
    }
    if method == "CONNECT" {
        let destination = Destination::parse(target)?;
        return Some(Request { destination, first: rest.to_vec(), is_tunnel: true });
    }
    let target = target.strip_prefix("http://")?;
    let end = target.find(['/', '?', '#']).unwrap_or(target.len());
    let (authority, path) = target.split_at_checked(end)?;
    let destination =
        Destination::parse(authority).or_else(|| Destination::parse(&format!("{authority}:80")))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host =
        if destination.port == 80 { destination.host.to_string() } else { destination.to_string() };
    // One connection is for one request: the next one may be for another host.
    let mut first =
        format!("{method} {slash}{path} {version}\r\nHost: {host}\r\nConnection: close\r\n");
    for line in lines {
        let (name, _) = line.split_once(':')?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        if !FOR_THE_PROXY.contains(&name.to_ascii_lowercase().as_str()) {
            first.push_str(line);
            first.push_str("\r\n");
        }
    }
    first.push_str("\r\n");
    let first = [first.as_bytes(), rest].concat();
    Some(Request { destination, first, is_tunnel: false })
}

pub(super) fn answer(outcome: Outcome<'_>) -> Vec<u8> {
    match outcome {
        Outcome::Connected => b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec(),
        Outcome::Refused(reason) => error("403 Forbidden", reason),
        Outcome::Failed(reason) => error("502 Bad Gateway", reason),
    }
}

fn bad_request() -> Vec<u8> {
    error(
        "400 Bad Request",
        "this is a proxy: it takes CONNECT HOST:PORT, and requests for http://",
    )
}

fn error(status: &str, reason: &str) -> Vec<u8> {
    let length = reason.len() + 1;
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{reason}\n").into_bytes()
}
