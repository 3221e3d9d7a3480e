//! Choosing lines.

/// The lines of `text` that `wanted` says, each with its end. What is looked at is the line without its
/// end, which may be `\n` or `\r\n`.
pub(super) fn choose_lines(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let is_wanted = |line: &&str| {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        wanted(bare.strip_suffix('\r').unwrap_or(bare))
    };
    text.split_inclusive('\n').filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_a(text: &str) -> String {
        choose_lines(text, |line| line.ends_with('a'))
    }

    #[test]
    fn lines_keep_their_ends() {
        assert_eq!(with_a("a\nb\n\nba\r\na"), "a\nba\r\na");
        assert_eq!(with_a(""), "");
        assert_eq!(with_a("ab"), "");
    }
}
