//! What a process writes: numbered, kept on disk, and read by any number of readers.
//!
//! A [`Collector`] has the bytes of both streams read into its memory, makes frames of them where they lie (`frame_block.rs`), and appends these to a
//! [`Spool`], which is a directory of segment files. A [`Reader`] reads the spool from some event on, at its own pace, and waits for more
//! until the spool ends. It returns frames as they are on disk, and as they are sent to who asks for them; an [`EventReader`] makes text events
//! of them, for what is sent as JSON. Where events have been dropped, a reader gets a [`Gap`](sandpipe_protocol::Gap) in their place.

mod blocks;
mod collector;
mod event_reader;
mod frame_block;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod reader;
mod spool;
mod text_event;
mod timestamp;

pub(crate) use collector::Collector;
pub(crate) use event_reader::{EventReader, ReadEvents};
pub(crate) use reader::{Reader, ReaderItem, StartAfter};
pub(crate) use spool::Spool;
pub use spool::SpoolLimit;
pub(crate) use text_event::TextEvent;
pub(crate) use timestamp::now;
