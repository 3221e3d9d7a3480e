use std::{io, sync::atomic::Ordering};

use sandpipe_protocol::{ExecItem, ExecStdout};

use super::{
    exec::Exec,
    index_line::{IndexEntry, Removal},
    record::{ExecRecord, Recording},
    time::Time,
};

impl Exec {
    /// Writes down what is known of it, for an agent that starts later. It may block.
    pub(super) fn write_record(&self) {
        if let Some(record) = self.record(self.item(), None) {
            let _written = self.written_len(self.directory.write(&record));
        }
    }

    /// Takes what it needs to write down how it ended. It may block.
    ///
    /// A command is run also where the disk is full: one like `rm` makes room.
    pub(super) fn reserve_end(&self) {
        if self.recording.is_some()
            && let Err(error) = self.directory.reserve_end()
        {
            tracing::warn!(%error, id = self.id, "there is no room to write down how the exec ends");
        }
    }

    /// Gives back what was taken for the end: it was not started.
    pub(super) fn unreserve_end(&self) {
        self.directory.unreserve_end();
    }

    /// Writes down that it has ended at that time, and makes room in memory. Returns how many bytes it takes on
    /// disk. It may block.
    pub(super) fn write_end(
        &self,
        item: ExecItem,
        at: Time,
        last_event: Option<ExecStdout>,
    ) -> u64 {
        let mut listed = item.clone();
        self.shorten(&mut listed);
        let written = self
            .record(item, last_event.clone())
            .and_then(|record| self.written_len(self.directory.write_end(&record)));
        let bytes = self.spool.size().saturating_add(written.unwrap_or(0));
        if written.is_some() {
            self.state().whole = None;
            if let Some(record) = self.record(listed, last_event) {
                let written = self.bookkeeping.write_entry(IndexEntry { record, at, bytes });
                self.is_indexed.store(written.is_ok(), Ordering::Release);
            }
        }
        bytes
    }

    fn record(&self, item: ExecItem, last_event: Option<ExecStdout>) -> Option<ExecRecord> {
        let Recording { creation } = self.recording.clone()?;
        Some(ExecRecord { number: self.number, item, creation, last_event })
    }

    /// How large what was written is, if it was; logs why not.
    fn written_len(&self, written: io::Result<Option<u64>>) -> Option<u64> {
        written.unwrap_or_else(|error| {
            tracing::warn!(
                %error,
                id = self.id,
                "the exec can't be written down: an agent that starts later won't know of it as it is"
            );
            None
        })
    }

    /// It is being removed: the key that it was created with is not to run its command again. It may block.
    ///
    /// # Errors
    /// The key is not written down: an agent that starts later would not know it.
    pub(super) fn write_removal(&self) -> io::Result<()> {
        let creation = self.recording.as_ref().and_then(|recording| recording.creation.clone());
        let Some(creation) = creation else {
            return Ok(());
        };
        if self.is_indexed.load(Ordering::Acquire) {
            return Ok(());
        }
        let created = self.created_at.unwrap_or_else(Time::now);
        self.bookkeeping.write_removal(Removal { id: self.id.clone(), created, creation })
    }
}
