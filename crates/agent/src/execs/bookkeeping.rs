//! What every exec tells, for those who look after all of them: what changes, for readers of the list
//! ([`Changes`]), that it has ended, for retention ([`EndedExecs`]), and both for an agent that starts later
//! ([`IndexFile`]).

use std::{
    io,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use tokio::{sync::Notify, time::sleep_until};

use super::{
    changes::Changes,
    ended::{EndedExecs, RetentionLimits},
    index_file::IndexFile,
    index_line::{IndexEntry, Removal},
};

#[derive(Debug)]
pub(super) struct Bookkeeping {
    pub(super) changes: Changes,
    ended: Mutex<EndedExecs>,
    /// The next one to go is another, or goes earlier, than when it was last looked.
    due: Notify,
    /// None where nothing is to be known later.
    index: OnceLock<IndexFile>,
}

impl Bookkeeping {
    pub(super) fn new(limits: RetentionLimits) -> Self {
        Self {
            changes: Changes::default(),
            ended: Mutex::new(EndedExecs::new(limits)),
            due: Notify::new(),
            index: OnceLock::new(),
        }
    }

    /// From now on what has ended is written down.
    pub(super) fn write_to(&self, index: IndexFile) {
        // There is one, and it is set once.
        let _set = self.index.set(index);
    }

    pub(super) fn index(&self) -> Option<&IndexFile> {
        self.index.get()
    }

    /// The exec of that number has ended, after all that have, and takes so many bytes on disk.
    pub(super) fn ended(&self, number: u64, since: Instant, bytes: u64) {
        let mut ended = self.ended_execs();
        let before = ended.next_look();
        ended.add(number, since, bytes);
        let next = ended.next_look();
        if next.is_some_and(|next| before.is_none_or(|before| next < before)) {
            self.due.notify_one();
        }
    }

    /// Writes what an agent that starts later has to know of an exec that has ended. It may block.
    ///
    /// # Errors
    /// It was not written.
    pub(super) fn write_entry(&self, entry: IndexEntry) -> io::Result<()> {
        self.index().map_or(Ok(()), |index| index.ended(entry))
    }

    /// The same for one that is being removed. It may block.
    ///
    /// # Errors
    /// It was not written.
    pub(super) fn write_removal(&self, removal: Removal) -> io::Result<()> {
        self.index().map_or(Ok(()), |index| index.removed(removal))
    }

    /// The execs that have ended. Held only for a moment.
    pub(super) fn ended_execs(&self) -> MutexGuard<'_, EndedExecs> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever waits is to look again.
    pub(super) fn wake(&self) {
        self.due.notify_one();
    }

    /// Waits until there may be something to do that was not there when it was last looked.
    pub(super) async fn wait(&self) {
        let next = self.ended_execs().next_look();
        let Some(next) = next else {
            return self.due.notified().await;
        };
        tokio::select! {
            () = self.due.notified() => {}
            () = sleep_until(next.into()) => {}
        }
    }
}
