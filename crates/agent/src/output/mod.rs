//! What a process writes: decoded, numbered, spooled to disk, and read by any number of readers.

mod blocks;
mod collector;
mod decoder;
mod event_reader;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod reader;
mod spool;

pub(crate) use collector::Collector;
pub(crate) use event_reader::{EventChunk, EventReader, NextEvents};
pub(crate) use reader::{Reader, ReaderItem, StartAfter};
pub(crate) use spool::Spool;
pub use spool::SpoolLimit;
