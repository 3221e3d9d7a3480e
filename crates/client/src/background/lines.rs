//! Choosing lines.

/// The lines that `wanted` says, each with its end, where that comes. What is looked at is the line
/// without its end, which may be `\n` or `\r\n`.
///
/// `pieces` are of several streams, by name: the lines of each go on in its next piece.
pub(super) fn choose_lines(pieces: &[(&str, &str)], wanted: impl Fn(&str) -> bool) -> String {
    let mut chosen = String::new();
    let mut choose = |line: &str| {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        if wanted(bare.strip_suffix('\r').unwrap_or(bare)) {
            chosen += line;
        }
    };
    // What stands behind the last line end of each stream.
    let mut unfinished: Vec<(&str, String)> = Vec::new();
    for (stream, text) in pieces {
        let mut line = match unfinished.iter().position(|(name, _)| name == stream) {
            Some(at) => unfinished.remove(at).1,
            None => String::new(),
        };
        for part in text.split_inclusive('\n') {
            line += part;
            if part.ends_with('\n') {
                choose(&line);
                line.clear();
            }
        }
        if !line.is_empty() {
            unfinished.push((stream, line));
        }
    }
    // That of another stream is another line.
    if let [(_, first), _] = unfinished.as_mut_slice() {
        first.push('\n');
    }
    for (_, line) in &unfinished {
        choose(line);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_a(text: &str) -> String {
        choose_lines(&[("stdout", text)], |line| line.ends_with('a'))
    }

    #[test]
    fn lines_keep_their_ends() {
        assert_eq!(with_a("a\nb\n\nba\r\na"), "a\nba\r\na");
        assert_eq!(with_a(""), "");
        assert_eq!(with_a("ab"), "");
    }

    #[test]
    fn lines_of_one_stream_are_no_lines_of_another() {
        let pieces =
            [("out", "1\n2"), ("err", "3\n4"), ("out", "2a\n5"), ("err", "a\n6"), ("out", "")];
        assert_eq!(choose_lines(&pieces, |_| true), "1\n3\n22a\n4a\n6\n5");
        assert_eq!(choose_lines(&pieces, |line| line.ends_with('a')), "22a\n4a\n");
        assert_eq!(choose_lines(&pieces, |line| line == "5"), "5");
    }
}
