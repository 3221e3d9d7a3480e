//! Text as a shell reads it.

/// `text` as one word of a shell. POSIX, 2.2.2: between single quotes each character stands for itself.
pub(crate) fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A path as one word of a shell, with `~` and `~/` for the home directory of whoever runs it.
pub(crate) fn quote_path(path: &str) -> String {
    const HOME: &str = r#""${HOME:?is not set, and a path begins with ~}""#;
    match path.strip_prefix('~') {
        Some("") => HOME.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{HOME}{}", shell_quote(rest)),
        _ => shell_quote(path),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn echoed(word: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("printf '%s|' {word}")]).env("HOME", "/home/a b");
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    }

    proptest! {
        #[test]
        fn a_shell_reads_one_word_that_is_the_text(text in "[^\0]{0,40}|[ '\"$`\\\\\n~*é😀-]{0,20}") {
            prop_assert_eq!(echoed(&shell_quote(&text)), format!("{text}|"));
        }
    }

    #[test]
    fn a_tilde_at_the_beginning_is_the_home_directory() {
        assert_eq!(echoed(&quote_path("~")), "/home/a b|");
        assert_eq!(echoed(&quote_path("~/x $y/~")), "/home/a b/x $y/~|");
        assert_eq!(echoed(&quote_path("~root/x")), "~root/x|");
        assert_eq!(echoed(&quote_path("/~")), "/~|");
    }
}
