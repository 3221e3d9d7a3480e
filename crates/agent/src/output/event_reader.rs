use std::{io, sync::Arc};

use sandpipe_protocol::{Gap, frame::Decoder};

use super::{
    reader::{Reader, ReaderItem, StartAfter},
    spool::Spool,
    text_event::{FrameText, TextEvent},
};

/// Reads a spool event by event, for what is not sent in frames.
#[derive(Debug)]
pub(crate) struct EventReader {
    reader: Reader,
    frames: Decoder,
    text: FrameText,
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadEvents {
    /// Events, which were handed over.
    Events,
    /// Events that are wanted and are not there any more.
    Gap(Gap),
}

impl EventReader {
    /// Follows the output until it ends.
    pub(crate) fn follow(spool: &Arc<Spool>, start: StartAfter) -> Self {
        Self::of(Reader::follow(spool, start))
    }

    /// Reads what exists now.
    pub(crate) fn snapshot(spool: &Arc<Spool>, start: StartAfter) -> Self {
        Self::of(Reader::snapshot(spool, start))
    }

    /// Reason why some of the output could not be written to disk, if that is so.
    pub(crate) fn failure(&self) -> Option<String> {
        self.reader.spool.failure()
    }

    fn of(reader: Reader) -> Self {
        Self { reader, frames: Decoder::default(), text: FrameText::default() }
    }

    /// Reads the next events, at least one, and hands each over; `None` after the last one. Nothing is lost when the future is
    /// dropped before it is done.
    ///
    /// # Errors
    /// When they can't be read.
    pub(crate) async fn next(
        &mut self,
        mut take: impl FnMut(&TextEvent<'_>),
    ) -> io::Result<Option<ReadEvents>> {
        while let Some(item) = self.reader.next().await? {
            match item {
                ReaderItem::Gap(gap) => return Ok(Some(ReadEvents::Gap(gap))),
                ReaderItem::Bytes(bytes) if self.take_events(&bytes, &mut take)? => {
                    return Ok(Some(ReadEvents::Events));
                }
                ReaderItem::Bytes(_) => {}
            }
        }
        Ok(None)
    }

    /// The same, where each event is written as bytes.
    ///
    /// # Errors
    /// When they can't be read.
    pub(crate) async fn next_written(
        &mut self,
        mut write: impl FnMut(&TextEvent<'_>, &mut Vec<u8>),
    ) -> io::Result<Option<ReaderItem>> {
        while let Some(item) = self.reader.next().await? {
            let ReaderItem::Bytes(bytes) = item else {
                return Ok(Some(item));
            };
            let mut written = self.reader.written.take_empty();
            if self.take_events(&bytes, |event| write(event, &mut written))? {
                return Ok(Some(ReaderItem::Bytes(self.reader.written.lend(written))));
            }
        }
        Ok(None)
    }

    /// Returns whether there were any.
    fn take_events(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&TextEvent<'_>),
    ) -> io::Result<bool> {
        let mut any = false;
        let fed = self.frames.feed(bytes, &mut |frame| {
            if let Some(event) = self.text.take(frame) {
                any = true;
                take(&event);
            }
        });
        fed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(any)
    }
}
