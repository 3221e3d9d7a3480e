/// Appends one event to `out`: an `event` line unless the name is empty, a `data` line for each
/// line of `data`, and the blank line that dispatches it.
///
/// A line of `data` ends at CR, LF or CRLF, since a decoder would take each for a line's end; it
/// gives them all back as LF. JSON text has none of them.
pub fn encode_event(out: &mut Vec<u8>, name: &str, data: &str) {
    if !name.is_empty() {
        encode_field(out, b"event: ", name);
    }
    encode_field(out, b"data: ", data);
    out.push(b'\n');
}

/// Appends a comment, which keeps a connection busy and dispatches nothing.
pub fn encode_comment(out: &mut Vec<u8>, text: &str) {
    encode_field(out, b": ", text);
    out.push(b'\n');
}

fn encode_field(out: &mut Vec<u8>, field: &[u8], value: &str) {
    let mut rest = value;
    loop {
        let end = memchr::memchr2(b'\r', b'\n', rest.as_bytes());
        let (line, after) = match end {
            Some(end) => split_line(rest, end),
            None => (rest, None),
        };
        out.extend_from_slice(field);
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        match after {
            Some(after) => rest = after,
            None => return,
        }
    }
}

/// The line that ends at byte `end`, and what follows its CR, LF or CRLF.
fn split_line(text: &str, end: usize) -> (&str, Option<&str>) {
    let (line, ended) = text.split_at_checked(end).unwrap_or((text, ""));
    let after = ended.strip_prefix("\r\n").or_else(|| ended.strip_prefix(['\r', '\n']));
    (line, after)
}
