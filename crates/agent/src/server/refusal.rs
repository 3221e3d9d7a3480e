use sandpipe_protocol::ErrorBody;

/// The answer that takes the place of one that the HTTP server gives by itself, to a request that it
/// can't read: the same head with a body in JSON, as every error has one. The server has no hook for it.
///
/// `None` for anything but such an answer: a head alone that says that it has no body.
pub(super) fn refusal(bare: &[u8]) -> Option<Vec<u8>> {
    let head = std::str::from_utf8(bare).ok()?.strip_suffix("\r\n\r\n")?;
    // With a blank line in it, it is not a head alone.
    if head.split("\r\n").any(str::is_empty) {
        return None;
    }
    let mut lines = head.split("\r\n");
    let status_line = lines.next()?;
    let code = status_line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let (lengths, fields): (Vec<_>, Vec<_>) = lines.partition(|line| *line == "content-length: 0");
    if lengths.is_empty() {
        return None;
    }
    let error = ErrorBody { code, message: message(code).into() };
    let body = serde_json::to_string(&error).ok()?;
    let length = format!("content-length: {}", body.len());
    let mut lines = vec![status_line, "content-type: application/json", &length];
    lines.extend(fields);
    lines.extend(["", &body]);
    Some(lines.join("\r\n").into_bytes())
}

fn message(code: u16) -> &'static str {
    match code {
        431 => "the request's head is too large: it may have 100 header fields, and 65536 bytes",
        _ => "the request is not HTTP/1.1: its first line or one of its header fields is malformed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_head_is_replaced() {
        let bare = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let replaced = String::from_utf8(refusal(bare.as_bytes()).unwrap()).unwrap();
        let (head, body) = replaced.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        assert!(head.ends_with("\r\nconnection: close"));
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())));
        for other in [
            "",
            "data: {}\n\n",
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            bare.strip_suffix('\n').unwrap(),
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 400 Bad Request\r\n\r\n",
        ] {
            assert_eq!(refusal(other.as_bytes()), None);
        }
    }
}
