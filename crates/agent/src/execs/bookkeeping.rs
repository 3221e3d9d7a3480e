use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    changes::Changes,
    ended::{Ended, Limits, Place},
    index_file::{Entry, IndexFile, Removal},
    time::Time,
};

/// The wall clock may be set: how long a time by it is waited for without looking at it again.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// What every exec tells, for those who look after all of them.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) changes: Changes,
    ended: Mutex<Ended>,
    /// An exec has ended, and one is due to go, or it is the first.
    due: Notify,
    /// None where nothing is to be known later.
    index: OnceLock<IndexFile>,
}

impl Ledger {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            changes: Changes::default(),
            ended: Mutex::new(Ended::new(limits)),
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

    /// An exec has ended, and takes so many bytes on disk.
    pub(super) fn ended(&self, place: Place, bytes: u64) {
        let mut ended = self.ends();
        let was_idle = ended.next_look().is_none();
        ended.add(place, bytes);
        if was_idle || ended.due(Time::now()).is_some() {
            self.due.notify_one();
        }
    }

    /// What an agent that starts later has to know of it. It may block.
    pub(super) fn write_entry(&self, entry: impl FnOnce() -> Entry) {
        if let Some(index) = self.index() {
            index.ended(&entry());
        }
    }

    /// The same for one that is being removed. It may block.
    pub(super) fn write_removal(&self, removal: &Removal) {
        if let Some(index) = self.index() {
            index.removed(removal);
        }
    }

    /// The execs that have ended. Held only for a moment.
    pub(super) fn ends(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever waits is to look again.
    pub(super) fn wake(&self) {
        self.due.notify_one();
    }

    /// Waits until there may be something to do that was not there when it was last looked.
    pub(super) async fn wait(&self) {
        let next = self.ends().next_look();
        let Some(next) = next else {
            return self.due.notified().await;
        };
        // How long from now on is how long ago now is then.
        let pause = Time::now().age(next).min(MAX_PAUSE);
        tokio::select! {
            () = self.due.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
