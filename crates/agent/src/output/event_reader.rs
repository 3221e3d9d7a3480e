use std::{io, mem, sync::Arc};

use sandpipe_protocol::Gap;

use super::{
    reader::{Reader, ReaderItem, StartAfter},
    spool::{Spool, split_frame, strip_frame},
};

/// Reads a spool event by event, for what is not sent as Server-Sent Events.
#[derive(Debug)]
pub(crate) struct EventReader {
    reader: Reader,
    /// The beginning of an event whose end has not been read yet.
    unfinished: Vec<u8>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum NextEvents {
    Events(EventChunk),
    /// Events that are wanted and are not there any more.
    Gap(Gap),
}

/// Some whole events.
#[derive(Debug)]
pub(crate) struct EventChunk(Vec<u8>);

impl EventReader {
    /// Follows the output until it ends.
    pub(crate) fn follow(spool: &Arc<Spool>, start: StartAfter) -> Self {
        Self::of(Reader::follow(spool, start))
    }

    /// Reads what exists now.
    pub(crate) fn snapshot(spool: &Arc<Spool>, start: StartAfter) -> Self {
        Self::of(Reader::snapshot(spool, start))
    }

    fn of(reader: Reader) -> Self {
        Self { reader, unfinished: Vec::new() }
    }

    /// Reads the next events, at least one; `None` after the last one. Nothing is lost when the
    /// future is dropped before it is done.
    pub(crate) async fn next(&mut self) -> io::Result<Option<NextEvents>> {
        while let Some(item) = self.reader.next().await? {
            let bytes = match item {
                ReaderItem::Bytes(bytes) => bytes,
                ReaderItem::Gap(gap) => return Ok(Some(NextEvents::Gap(gap))),
            };
            let mut events = mem::take(&mut self.unfinished);
            events.extend_from_slice(&bytes);
            let end =
                events.windows(2).rposition(|pair| pair == b"\n\n").map_or(0, |found| found + 2);
            self.unfinished = events.split_off(end);
            if !events.is_empty() {
                return Ok(Some(NextEvents::Events(EventChunk(events))));
            }
        }
        Ok(None)
    }
}

impl EventChunk {
    /// The JSON of each event.
    pub(crate) fn events(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (frame, after) = split_frame(rest)?;
            rest = after;
            strip_frame(frame)
        })
    }
}
