//! What a process writes: decoded, numbered, spooled to disk, and read by any number of readers.

mod blocks;
mod collector;
mod decoder;
mod frames;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod reader;
mod spool;

pub(crate) use collector::Collector;
pub(crate) use frames::{Chunk, Frames, Next};
pub(crate) use reader::{Piece, Reader, StartAfter};
pub(crate) use spool::Spool;
pub use spool::SpoolLimit;
