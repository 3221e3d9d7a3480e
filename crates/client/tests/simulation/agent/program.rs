//! What the commands of a simulated agent do.

use sandpipe_protocol::{Characters, OutputType};

/// What a command does, from its first step to its exit code.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) exit_code: i32,
    pub(crate) on_term: OnTerm,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write(OutputType, String),
    /// Writes what need be no text.
    WriteBytes(OutputType, Vec<u8>),
    /// Does nothing for so many milliseconds.
    Pause(f64),
    /// Writes what is read from standard input, up to its end.
    Copy,
    /// The same, up to the text with an [`END_MARK`].
    CopyToMark,
    /// Leaves a process of its group behind.
    Fork(Other),
}

/// A process of a group beside its leader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other {
    /// How long it lives by itself, in milliseconds.
    pub(crate) lives_ms: f64,
    pub(crate) ignores_term: bool,
}

/// What becomes of it by SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OnTerm {
    Die,
    Ignore,
    /// It writes `tidied up` and exits after so many milliseconds.
    TidyUp {
        after_ms: f64,
        exit_code: i32,
    },
}

/// The character that [`Step::CopyToMark`] stops at: the end of a transmission.
pub(crate) const END_MARK: char = '\u{4}';

/// What is written by [`OnTerm::TidyUp`].
pub(crate) const TIDIED_UP: &str = "tidied up\n";

impl Program {
    /// A program that ends at once.
    pub(crate) fn exit(exit_code: i32) -> Self {
        Self { steps: Vec::new(), exit_code, on_term: OnTerm::Die }
    }

    /// A program that writes this to its standard output, and ends.
    pub(crate) fn write(text: &str, exit_code: i32) -> Self {
        let steps = vec![Step::Write(OutputType::Stdout, text.to_owned())];
        Self { steps, ..Self::exit(exit_code) }
    }

    /// The text of all that it writes, where nothing follows on either stream within a character.
    pub(crate) fn output(&self) -> String {
        let (mut stdout, mut stderr) = (Characters::default(), Characters::default());
        let mut text = String::new();
        for step in &self.steps {
            let (kind, bytes) = match step {
                Step::Write(kind, text) => (kind, text.as_bytes()),
                Step::WriteBytes(kind, bytes) => (kind, &**bytes),
                _ => continue,
            };
            let stream = if *kind == OutputType::Stdout { &mut stdout } else { &mut stderr };
            text += &stream.next(bytes).to_text();
        }
        [stdout, stderr].iter_mut().fold(text, |text, stream| text + &stream.next(&[]).to_text())
    }

    /// A program of a few steps, most of them short.
    pub(crate) fn of(random: &mut fastrand::Rng) -> Self {
        let steps = (0..random.usize(..8)).map(|_| Step::of(random)).collect();
        let on_term = match random.u8(..4) {
            0 => OnTerm::Ignore,
            1 => OnTerm::TidyUp { after_ms: random.f64() * 15_000.0, exit_code: random.i32(..100) },
            _ => OnTerm::Die,
        };
        let exit_code = if random.bool() { 0 } else { random.i32(1..256) };
        Self { steps, exit_code, on_term }
    }
}

impl Step {
    fn of(random: &mut fastrand::Rng) -> Self {
        match random.u8(..16) {
            0 => Self::Pause(random.f64() * 120_000.0),
            1..=4 => Self::Pause(random.f64() * 50.0),
            5 => {
                let max_ms = if random.bool() { 20_000.0 } else { 600_000.0 };
                let lives_ms = random.f64() * max_ms;
                Self::Fork(Other { lives_ms, ignores_term: random.bool() })
            }
            6 => {
                let is_stdout = random.bool();
                let kind = if is_stdout { OutputType::Stdout } else { OutputType::Stderr };
                Self::WriteBytes(kind, bytes(random))
            }
            7..=8 => Self::Write(OutputType::Stderr, text(random)),
            _ => Self::Write(OutputType::Stdout, text(random)),
        }
    }
}

/// Parts of characters, and what is none.
fn bytes(random: &mut fastrand::Rng) -> Vec<u8> {
    const PIECES: [&[u8]; 10] = [
        b"a",
        b"\xE2",
        b"\xE2\x82",
        b"\x82\xAC",
        b"\xAC",
        b"\xF0\x9D",
        b"\x84\x9E",
        b"\xC3",
        b"\xFF",
        b"\0",
    ];
    (0..=random.usize(..4)).flat_map(|_| PIECES[random.usize(..PIECES.len())]).copied().collect()
}

/// A text with lines, and with characters of every length.
fn text(random: &mut fastrand::Rng) -> String {
    const WORDS: [&str; 8] =
        ["a", "line\n", "\r\n", "é", "€uro", "𝄞 clef", "\"quoted\\\"", "data: x\n\n"];
    let bits = if random.u8(..50) > 0 { random.u32(..5) } else { random.u32(..12) };
    (0..=random.usize(..1 << bits)).map(|_| WORDS[random.usize(..WORDS.len())]).collect()
}
