use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::progress::Progress;

/// How far one connection is, and who is to be woken when that is looked at anew.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) id: u64,
    progress: Mutex<Progress>,
    /// Of the task that has the connection.
    pub(super) waker: AtomicWaker,
}

impl ConnectionState {
    /// That of a connection which was accepted now, whose client may take nothing for `stall_timeout`.
    pub(super) fn new(id: u64, stall_timeout: Duration) -> Self {
        let progress = Mutex::new(Progress::accepted(Instant::now(), stall_timeout));
        Self { id, progress, waker: AtomicWaker::new() }
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the connection end where it waits for its client.
    pub(super) fn evict(&self) {
        self.progress().evict(Instant::now());
        self.waker.wake();
    }
}
