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
#[derive(Debug)]
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

#[derive(Debug, Default)]
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
    use proptest::prelude::*;

    use super::*;
    use OutputType::{Stderr, Stdout};

    fn nonce() -> Nonce {
        Nonce::of_bytes(*b"0123456789abcdef")
    }

    fn marker(says: &str) -> String {
        format!("\x1e30313233343536373839616263646566:{says}\x1e")
    }

    #[test]
    fn takes_the_markers_out_and_leaves_the_output_as_it_is() {
        let mut markers = Markers::new(&nonce());
        assert_eq!(markers.feed(Stdout, &format!("{}no newline", marker("b"))), "no newline");
        assert!(markers.begun() && !markers.over());
        let end = format!("!{}{}", marker("x3"), marker("e0,0"));
        assert_eq!(markers.feed(Stdout, &end), "!");
        assert!(!markers.over(), "stderr has not ended");
        assert_eq!(markers.feed(Stderr, &format!("oops{}", marker("e0,0"))), "oops");
        assert!(markers.over());
        assert_eq!(markers.exit_code(), Some(3));
    }

    #[test]
    fn a_script_that_was_left_half_way_ends_with_what_the_shell_had() {
        let mut markers = Markers::new(&nonce());
        markers.feed(Stdout, &format!("{}{}", marker("b"), marker("e0,130")));
        assert_eq!(markers.exit_code(), Some(130));
    }

    #[test]
    fn an_interruption_waits_for_an_end_of_its_own() {
        let mut markers = Markers::new(&nonce());
        assert_eq!(markers.expect_another_end(), 1);
        for kind in [Stdout, Stderr] {
            markers.feed(kind, &marker("e0,7"));
        }
        assert!(!markers.over());
        for kind in [Stdout, Stderr] {
            assert_eq!(markers.feed(kind, &format!("^C{}", marker("e1,0"))), "^C");
        }
        assert!(markers.over());
        assert_eq!(markers.exit_code(), Some(7));
    }

    #[test]
    fn a_script_that_was_not_begun_has_no_exit_code_of_its_own() {
        let mut markers = Markers::new(&nonce());
        markers.feed(Stdout, &marker("x1"));
        assert!(markers.was_skipped());
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

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            texts in prop::collection::vec("[a\x1e0:\n€]{0,12}", 3),
            cuts in prop::collection::vec(0_usize..200, 0..12),
        ) {
            let said = [marker("b"), marker("x42"), marker("e0,0")];
            let pairs = texts.iter().zip(&said);
            let whole = pairs.flat_map(|(text, marker)| [text.as_str(), marker]).collect::<String>();
            let mut markers = Markers::new(&nonce());
            let mut output = String::new();
            let mut cuts: Vec<usize> =
                cuts.iter().map(|cut| whole.floor_char_boundary(*cut)).collect();
            cuts.sort_unstable();
            let mut rest = whole.as_str();
            let mut done = 0;
            for cut in cuts {
                let (piece, after) = rest.split_at(cut - done);
                output.push_str(&markers.feed(Stdout, piece));
                (rest, done) = (after, cut);
            }
            output.push_str(&markers.feed(Stdout, rest));
            prop_assert_eq!(output, texts.concat());
            prop_assert!(markers.begun());
            prop_assert_eq!(markers.exit_code(), Some(42));
            markers.feed(Stderr, &marker("e0,0"));
            prop_assert!(markers.over());
        }
    }
}
