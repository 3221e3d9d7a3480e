use super::{Frame, HEADER_LEN, Payload};
use crate::{Gap, OutputType};

/// The header of a frame of output with a payload of so many bytes, at most [`MAX_PAYLOAD`](super::MAX_PAYLOAD).
#[must_use]
pub fn header(kind: OutputType, len: usize, sequence: u64, time: u64) -> [u8; HEADER_LEN] {
    any_header(Payload::Output(kind, &[]).type_byte(), len, sequence, time)
}

fn any_header(type_byte: u8, len: usize, sequence: u64, time: u64) -> [u8; HEADER_LEN] {
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    let numbers = sequence.to_le_bytes().into_iter().chain(time.to_le_bytes());
    let bytes = len.to_le_bytes().into_iter().chain([type_byte]).chain(numbers);
    let mut header = [0; HEADER_LEN];
    for (place, byte) in header.iter_mut().zip(bytes) {
        *place = byte;
    }
    header
}

impl Frame<'_> {
    /// Appends it to `out`. A payload has at most [`MAX_PAYLOAD`](super::MAX_PAYLOAD) bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut numbers = [0; 16];
        let payload = match self.payload {
            Payload::Output(_, bytes) | Payload::Exec(bytes) | Payload::Unfinished(_, bytes) => {
                bytes
            }
            Payload::Exit(code) => copy(&mut numbers, &code.to_le_bytes()),
            Payload::Gap(Gap { from, to }) => {
                copy(&mut numbers, &[from.to_le_bytes(), to.to_le_bytes()].concat())
            }
            Payload::Ping | Payload::Unknown => &[],
        };
        let type_byte = self.payload.type_byte();
        out.extend_from_slice(&any_header(type_byte, payload.len(), self.sequence, self.time));
        out.extend_from_slice(payload);
    }
}

fn copy<'a>(room: &'a mut [u8; 16], bytes: &[u8]) -> &'a [u8] {
    for (place, byte) in room.iter_mut().zip(bytes) {
        *place = *byte;
    }
    room.get(..bytes.len()).unwrap_or_default()
}

impl Payload<'_> {
    fn type_byte(&self) -> u8 {
        match self {
            Self::Output(OutputType::Stdout, _) => Self::STDOUT,
            Self::Output(OutputType::Stderr, _) => Self::STDERR,
            Self::Exit(_) => Self::EXIT,
            Self::Gap(_) => Self::GAP,
            Self::Ping => Self::PING,
            Self::Exec(_) => Self::EXEC,
            Self::Unfinished(OutputType::Stdout, _) => Self::UNFINISHED_STDOUT,
            Self::Unfinished(OutputType::Stderr, _) => Self::UNFINISHED_STDERR,
            Self::Unknown => u8::MAX,
        }
    }
}
