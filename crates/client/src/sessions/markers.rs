//! The markers in what a session's shell prints: a parser without I/O, fed with pieces that are cut
//! anywhere.
//!
//! A marker is U+001E, the nonce of a run, `:`, what it says, U+001E. It may stand anywhere, also
//! behind output that does not end with a newline. What only looks like one is output.
use sandpipe_protocol::OutputType;

use crate::Nonce;

const SEPARATOR: char = '\x1e';

/// The most that a marker says, in bytes: two numbers, the letter and the comma between.
const MAX_PAYLOAD_BYTES: usize = 24;

/// Follows one run in the output of the shell: takes the markers out and says what they mean.
pub(super) struct Markers {
    /// What every marker of this run begins with.
    prefix: String,
    stdout: Stream,
    stderr: Stream,
    begun: bool,
    /// What the script ended with, where it was not left half way.
    result: Option<i32>,
    /// What the shell had when it came to the end.
    end: Option<i32>,
    /// The end that is waited for: each interruption asks for a new one.
    awaited: u32,
}

#[derive(Default)]
struct Stream {
    /// The beginning of what may be a marker.
    held: String,
    /// The newest end that has come.
    ended: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Begin,
    Result(i32),
    End { serial: u32, exit_code: i32 },
}

impl Markers {
    pub(super) fn new(nonce: &Nonce) -> Self {
        Self {
            prefix: format!("{SEPARATOR}{}:", nonce.as_str()),
            stdout: Stream::default(),
            stderr: Stream::default(),
            begun: false,
            result: None,
            end: None,
            awaited: 0,
        }
    }

    /// Takes the next piece of a stream and gives what of it is output.
    pub(super) fn feed(&mut self, kind: OutputType, text: &str) -> String {
        let mut held = std::mem::take(&mut self.stream(kind).held);
        held.push_str(text);
        let mut output = String::new();
        let mut rest = held.as_str();
        while let Some((before, after)) = rest.split_once(SEPARATOR) {
            output.push_str(before);
            let from = rest.split_at_checked(before.len()).map_or("", |(_, from)| from);
            match Found::at(from, &self.prefix) {
                Found::Marker(marker, behind) => {
                    self.take(kind, marker);
                    rest = behind;
                }
                Found::Nothing => {
                    output.push(SEPARATOR);
                    rest = after;
                }
                Found::Beginning => {
                    from.clone_into(&mut self.stream(kind).held);
                    return output;
                }
            }
        }
        output.push_str(rest);
        output
    }

    /// What was held back of a stream that has ended: it was no marker.
    pub(super) fn finish_stream(&mut self, kind: OutputType) -> String {
        std::mem::take(&mut self.stream(kind).held)
    }

    /// The script has begun: nothing of its line is left in stdin.
    pub(super) fn begun(&self) -> bool {
        self.begun
    }

    /// The shell went past the script without having begun it.
    pub(super) fn was_skipped(&self) -> bool {
        self.result.is_some() && !self.begun
    }

    /// Asks for one more end, and gives its number: the run is over with that one only.
    pub(super) fn expect_another_end(&mut self) -> u32 {
        self.awaited += 1;
        self.awaited
    }

    /// The end has come on both streams: all of the output has, too.
    pub(super) fn over(&self) -> bool {
        [&self.stdout, &self.stderr].iter().all(|stream| stream.ended == Some(self.awaited))
    }

    /// The exit code of the script, once it is over.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.result.or(self.end)
    }

    fn take(&mut self, kind: OutputType, marker: Marker) {
        match marker {
            Marker::Begin => self.begun = true,
            Marker::Result(exit_code) => self.result = self.result.or(Some(exit_code)),
            Marker::End { serial, exit_code } => {
                self.stream(kind).ended = Some(serial);
                if kind == OutputType::Stdout {
                    self.end.get_or_insert(exit_code);
                }
            }
        }
    }

    fn stream(&mut self, kind: OutputType) -> &mut Stream {
        match kind {
            OutputType::Stdout => &mut self.stdout,
            OutputType::Stderr => &mut self.stderr,
        }
    }
}

/// What a text that begins with the separator is.
enum Found<'a> {
    /// A marker, and what comes behind it.
    Marker(Marker, &'a str),
    /// It may become one.
    Beginning,
    Nothing,
}

impl<'a> Found<'a> {
    fn at(text: &'a str, prefix: &str) -> Self {
        let Some(said) = text.strip_prefix(prefix) else {
            return if prefix.starts_with(text) { Self::Beginning } else { Self::Nothing };
        };
        match said.split_once(SEPARATOR) {
            // Whether it is one must not hang on where the text was cut.
            Some((payload, behind)) if payload.len() <= MAX_PAYLOAD_BYTES => {
                match Marker::parse(payload) {
                    Some(marker) => Self::Marker(marker, behind),
                    None => Self::Nothing,
                }
            }
            None if said.len() <= MAX_PAYLOAD_BYTES => Self::Beginning,
            _ => Self::Nothing,
        }
    }
}

impl Marker {
    fn parse(payload: &str) -> Option<Self> {
        if payload == "b" {
            return Some(Self::Begin);
        }
        if let Some(exit_code) = payload.strip_prefix('x') {
            return exit_code.parse().ok().map(Self::Result);
        }
        let (serial, exit_code) = payload.strip_prefix('e')?.split_once(',')?;
        Some(Self::End { serial: serial.parse().ok()?, exit_code: exit_code.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OutputType::Stdout;

    fn nonce() -> Nonce {
        Nonce::of_bytes(*b"0123456789abcdef")
    }

    fn marker(says: &str) -> String {
        format!("\x1e30313233343536373839616263646566:{says}\x1e")
    }

    #[test]
    fn the_exit_code_is_the_script_s_and_not_the_one_behind_it() {
        let mut markers = Markers::new(&nonce());
        markers.feed(Stdout, &format!("{}{}{}", marker("b"), marker("x3"), marker("e0,0")));
        assert_eq!(markers.exit_code(), Some(3));
    }

    #[test]
    fn a_script_that_was_not_begun_has_no_exit_code_of_its_own() {
        let mut markers = Markers::new(&nonce());
        markers.feed(Stdout, &marker("x1"));
        assert!(markers.was_skipped());
    }

    #[test]
    fn a_script_that_was_left_half_way_ends_with_what_the_shell_had() {
        let mut markers = Markers::new(&nonce());
        markers.feed(Stdout, &format!("{}{}", marker("b"), marker("e0,130")));
        assert_eq!(markers.exit_code(), Some(130));
    }

    #[test]
    fn what_only_looks_like_a_marker_is_output() {
        let long = "x".repeat(MAX_PAYLOAD_BYTES + 1);
        for text in [
            "\x1e\x1e\x1e".to_owned(),
            "\x1e3031323334353637383961626364656X:b\x1e".to_owned(),
            marker("b").to_uppercase(),
            marker(""),
            marker("e0"),
            marker("x"),
            marker("b "),
            marker(&format!("x{}1", "0".repeat(MAX_PAYLOAD_BYTES))),
            format!("\x1e30313233343536373839616263646566:{long}"),
        ] {
            let mut markers = Markers::new(&nonce());
            let mut output = markers.feed(Stdout, &text);
            output.push_str(&markers.finish_stream(Stdout));
            assert_eq!(output, text);
            assert!(!markers.begun() && markers.exit_code().is_none() && !markers.over());
        }
    }
}
