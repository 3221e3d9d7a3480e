//! Output on its way to the host.

use sandpipe_text::Text;

use super::EventOutput;

/// How callers are given output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As text: what is no UTF-8 becomes U+FFFD.
    #[default]
    Utf8,
    /// Byte for byte.
    Bytes,
}

/// Output that grows. Its memory serves the next when it is cleared.
#[derive(Debug)]
pub enum OutputBuffer {
    /// As text.
    Text(Text),
    /// As bytes.
    Bytes(Vec<u8>),
}

impl OutputBuffer {
    /// One for output in this encoding.
    pub fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Utf8 => Self::Text(Text::default()),
            Encoding::Bytes => Self::Bytes(Vec::new()),
        }
    }

    /// Appends the output of an event.
    pub fn push(&mut self, output: &EventOutput<'_>) {
        match (self, output) {
            (Self::Text(text), EventOutput::Text(more)) => text.push_text(more),
            (Self::Text(text), EventOutput::Bytes { text: part, .. }) => text.push_part(*part),
            (Self::Bytes(bytes), EventOutput::Bytes { bytes: more, .. }) => {
                bytes.extend_from_slice(more);
            }
            // Nobody is given bytes who has no more than text.
            (Self::Bytes(_), EventOutput::Text(_)) => {}
        }
    }

    /// How long it is for the host: in UTF-16 code units, or in bytes.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.length(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// How many bytes it is, as UTF-8 if it is text.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.utf8_length(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Takes off what is behind so many bytes; of text, behind the last whole character in them.
    pub fn truncate(&mut self, max_bytes: usize) {
        match self {
            Self::Text(text) => text.truncate_utf8(max_bytes),
            Self::Bytes(bytes) => bytes.truncate(max_bytes),
        }
    }

    /// Makes it empty.
    pub fn clear(&mut self) {
        match self {
            Self::Text(text) => text.clear(),
            Self::Bytes(bytes) => bytes.clear(),
        }
    }
}
