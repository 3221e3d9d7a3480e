//! What a process writes: decoded, numbered, kept on disk, and read by any number of readers.
//!
//! A [`Collector`] gets the bytes of both streams, makes text of them, and appends it as events to a [`Spool`], which is a directory of segment
//! files. A [`Reader`] reads the spool from some event on, at its own pace, and waits for more until the spool ends. It returns
//! the bytes of events as Server-Sent Events have them, which is how they are on disk; an [`EventReader`] takes these apart, for what
//! is sent otherwise. Where events have been dropped, a reader gets a [`Gap`](sandpipe_protocol::Gap) in their place.

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
