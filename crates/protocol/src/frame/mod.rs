//! Output in binary frames: `application/vnd.sandpipe.output`, the extension `frames`.
//!
//! A stream of frames, each a header of [`HEADER_LEN`] bytes and a payload, all numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | `u32` | length of the payload, at most [`MAX_PAYLOAD`] |
//! | `u8` | type |
//! | `u64` | sequence |
//! | `u64` | time, microseconds since 1970 |
//! | … | payload |
//!
//! One frame of output is one event: its sequence is the one that the event has as JSON. [`Frame`] is one of them as it lies in
//! memory, [`split_frame`] takes it off whole bytes, and a [`Decoder`] takes frames out of bytes that are cut anywhere.
//!
//! A payload may end within a character. [`Payload::Unfinished`] comes before the frame that goes on with it, so that a reader who
//! begins there has the whole; [`Characters`](crate::Characters) puts them together.

mod decode;
mod encode;

use crate::{Gap, OutputType};
pub use decode::{Decoder, FrameError, frame_len, split_frame, whole_frames_len};
pub use encode::header;

/// The media type of a stream of frames.
pub const MEDIA_TYPE: &str = "application/vnd.sandpipe.output";

/// The bytes before a payload.
pub const HEADER_LEN: usize = 4 + 1 + 8 + 8;

/// The most bytes of a payload.
pub const MAX_PAYLOAD: usize = 65_536;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The number of the event; 0 where it is none, as with a ping.
    pub sequence: u64,
    /// When the agent read it, in microseconds since 1970.
    pub time: u64,
    /// What it says.
    pub payload: Payload<'a>,
}

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// What the process wrote, as it came (types 1 and 2). Nothing stands for the end of a stream that ends within a character.
    Output(OutputType, &'a [u8]),
    /// The exit code; the stream then ends (type 3: `i32`).
    Exit(i32),
    /// Events that the agent does not have any more (type 4: `u64` from, `u64` to).
    Gap(Gap),
    /// A sign of life (type 5).
    Ping,
    /// The exec that was created, as JSON (type 6).
    Exec(&'a [u8]),
    /// The character that the next output of that stream goes on with: its first bytes, which came at the end of an earlier
    /// one (types 17 and 18). It has the sequence of the frame that follows.
    Unfinished(OutputType, &'a [u8]),
    /// A type that a later agent may have: it is to be passed over.
    Unknown,
}

impl Payload<'_> {
    const STDOUT: u8 = 1;
    const STDERR: u8 = 2;
    const EXIT: u8 = 3;
    const GAP: u8 = 4;
    const PING: u8 = 5;
    const EXEC: u8 = 6;
    const UNFINISHED_STDOUT: u8 = 0x10 | Self::STDOUT;
    const UNFINISHED_STDERR: u8 = 0x10 | Self::STDERR;
}
