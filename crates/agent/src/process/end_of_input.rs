use std::os::fd::OwnedFd;

use nix::sys::termios::{LocalFlags, SpecialCharacterIndices, tcgetattr};

/// What ends standard input. A pipe is closed; a terminal stays open and is told by its VEOF character.
#[derive(Debug, Default)]
pub(crate) struct EndOfInput {
    /// The last byte that was written.
    last: Option<u8>,
}

impl EndOfInput {
    /// Those bytes are written before the end.
    pub(crate) fn follows(&mut self, bytes: &[u8]) {
        self.last = bytes.last().copied().or(self.last);
    }

    /// The bytes to write for the end: none for a pipe.
    ///
    /// VEOF at the beginning of a line is end-of-file; after the beginning of one it only hands that
    /// over to the reader, and a second one is end-of-file (POSIX, General Terminal Interface, 11.1.9).
    pub(crate) fn bytes_for(&self, input: &OwnedFd) -> Vec<u8> {
        // On the master's side this gives the settings of the terminal that belongs to it.
        let Ok(settings) = tcgetattr(input) else {
            return Vec::new();
        };
        let veof = settings
            .control_chars
            .get(SpecialCharacterIndices::VEOF as usize)
            .copied()
            .unwrap_or(0x04);
        let lines = settings.local_flags.contains(LocalFlags::ICANON);
        let count = if lines && self.is_within_a_line(veof) { 2 } else { 1 };
        vec![veof; count]
    }

    fn is_within_a_line(&self, veof: u8) -> bool {
        self.last.is_some_and(|last| ![b'\n', b'\r', veof].contains(&last))
    }
}
