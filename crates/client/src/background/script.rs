//! Scripts for the target: one is one round trip, and gives one answer.

use crate::Nonce;
use crate::shell::here_document::delimiter;
use crate::shell::quote::shell_quote;

/// A part of a script: a file of `sh/` without its comments, which nobody is to download.
macro_rules! sh {
    ($name:literal) => {{
        const SOURCE: &str = include_str!(concat!("sh/", $name, ".sh"));
        const KEPT: ([u8; SOURCE.len()], usize) =
            $crate::background::script::without_comments(SOURCE.as_bytes());
        const LINES: &[u8] = match KEPT.0.first_chunk::<{ KEPT.1 }>() {
            Some(lines) => &{ *lines },
            None => &[],
        };
        // It is made of whole lines.
        const TEXT: &str = match std::str::from_utf8(LINES) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}

pub(super) use sh;

/// The lines that are more than a comment, and how long they are together.
#[expect(clippy::indexing_slicing, reason = "the compiler carries it out")]
pub(super) const fn without_comments<const N: usize>(source: &[u8]) -> ([u8; N], usize) {
    let (mut kept, mut length) = ([0; N], 0);
    // Where the line begins in what is kept, and whether nothing but spaces has come in it.
    let (mut line, mut blank) = (0, true);
    let mut at = 0;
    while at < source.len() {
        let byte = source[at];
        if blank && byte == b'#' {
            length = line;
            while at < source.len() && source[at] != b'\n' {
                at += 1;
            }
        } else {
            kept[length] = byte;
            length += 1;
            blank = byte == b'\n' || blank && byte == b' ';
            if byte == b'\n' {
                line = length;
            }
        }
        at += 1;
    }
    (kept, length)
}

/// A script in the making: settings, then parts that make use of them.
#[derive(Default)]
pub(super) struct Script {
    body: String,
    inputs: Vec<String>,
}

impl Script {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Sets a variable to a text.
    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.word(name, &shell_quote(value))
    }

    /// Sets a variable to a word in the shell's own language.
    pub(super) fn word(mut self, name: &str, word: &str) -> Self {
        self.body.extend([name, "=", word, "\n"]);
        self
    }

    /// Appends lines of it.
    pub(super) fn part(mut self, lines: &str) -> Self {
        self.body += lines;
        self
    }

    /// A text of any size for it to read: the first is on descriptor 3, the next on 4, and so on. Its
    /// last line is always finished.
    pub(super) fn input(mut self, text: String) -> Self {
        self.inputs.push(text);
        self
    }

    /// What was put together so far, to be part of something else.
    pub(super) fn into_body(self) -> String {
        self.body
    }

    /// The whole text for the runtime.
    ///
    /// A shell of its own runs it, bash where bash reads this, so that nothing that is set in the
    /// runtime's shell (options, aliases, functions, traps) matters to it, nor it to them. The nonce is
    /// there in two halves: a shell that prints what it reads must not be taken for one that answers.
    pub(super) fn render(&self, nonce: &Nonce) -> String {
        let nonce = nonce.as_str();
        let (first, second) = nonce.split_at_checked(nonce.len() / 2).unwrap_or_default();
        let answer =
            Self::new().text("nonce", first).text("nonce2", second).part(sh!("answer")).into_body();
        let body = shell_quote(&format!("{answer}{}section end\n", self.body));
        let mut text = format!("command \"${{BASH:-sh}}\" -c {body} sandpipe </dev/null 2>&1");
        let mut documents = String::new();
        for (descriptor, input) in (3_u32..).zip(&self.inputs) {
            let delimiter = delimiter(input, &format!("{first}-{descriptor}"));
            text.extend([" ", &descriptor.to_string(), "<<'", &delimiter, "'"]);
            let end = if input.ends_with('\n') { "" } else { "\n" };
            documents.extend([input, end, &delimiter, "\n"]);
        }
        text.push('\n');
        text + &documents
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn run(script: &Script, nonce: &Nonce) -> String {
        let output = Command::new("sh").args(["-c", &script.render(nonce)]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn inputs_arrive_as_they_are(first in "[^\0\n]{0,9}|[ '\"$`\\\\\n]{0,9}", second in "[^\0]{0,20}") {
            let script = Script::new().part("cat <&3; section then; cat <&4\n").input(first.clone()).input(second.clone());
            let nonce = Nonce::of_bytes(*b"0123456789abcdef");
            let finished = |text: String| if text.ends_with('\n') { text } else { text + "\n" };
            let [first, second] = [first, second].map(finished);
            let mark = nonce.as_str();
            prop_assert_eq!(run(&script, &nonce), format!("{first}\n{mark}:then\n{second}\n{mark}:end\n"));
        }
    }

    #[test]
    fn lines_that_begin_like_the_end_of_a_document_arrive_whole() {
        let lines: Vec<_> =
            ('0'..='9').chain('a'..='z').map(|c| format!("{c}é\n{c}{c}é\n")).collect();
        let lines = lines.concat();
        let script = Script::new().part("cat <&3\n").input(lines.clone());
        let nonce = Nonce::of_bytes(*b"0123456789abcdef");
        let mark = nonce.as_str();
        assert_eq!(run(&script, &nonce), format!("{lines}\n{mark}:end\n"));
    }

    #[test]
    fn its_text_has_no_mark_of_an_answer() {
        let nonce = Nonce::of_bytes(*b"0123456789abcdef");
        let text = Script::new().text("a", "b").input(String::new()).render(&nonce);
        assert!(!text.contains(nonce.as_str()));
    }

    #[test]
    fn comments_stay_at_home() {
        const SOURCE: &[u8] = b"# why\n  # why\necho '#'\n\n  a #\n#";
        let (kept, length) = without_comments::<{ SOURCE.len() }>(SOURCE);
        assert_eq!(&kept[..length], b"echo '#'\n\n  a #\n");
    }
}
