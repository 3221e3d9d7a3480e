//! Retention: what has ended goes when it is over the limits.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    ended::{DueExec, Hold},
    exec::{Exec, Lifecycle},
    index_file::IndexFile,
    index_line::IndexLine,
    registry::Registry,
};
use crate::blocking::{self, NotRun};

/// How long an exec is left alone that can't be removed.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

impl Registry {
    /// Removes what has ended and is over the limits, until no more execs are taken.
    pub(crate) async fn retain(self: Arc<Self>) {
        tokio::select! {
            () = self.remove_ended() => {}
            () = self.keep_index_short() => {}
        }
    }

    /// One after the other. What is on disk is removed on a thread of its own, so that it holds up nothing else.
    async fn remove_ended(&self) {
        while !self.is_stopping() {
            let due = self.bookkeeping().ended_execs().due(Instant::now());
            match due {
                Some(due) => self.expire(due).await,
                None => self.bookkeeping().wait().await,
            }
        }
    }

    /// Removes an exec, unless it is in use. Nothing is signalled.
    async fn expire(&self, due: DueExec) {
        let hold = match self.try_expire(due).await {
            Ok(None) => return self.bookkeeping().ended_execs().remove(due.number),
            Ok(Some(hold)) => hold,
            Err(error) => {
                tracing::error!(%error, "what has ended could not be removed");
                Hold::Process
            }
        };
        self.bookkeeping().ended_execs().hold(due.number, hold, Instant::now() + RETRY_INTERVAL);
    }

    /// The same; returns why it can't go.
    async fn try_expire(&self, due: DueExec) -> Result<Option<Hold>, NotRun> {
        let Some(exec) = self.by_number(due.number) else {
            if let Some(directory) = self.take_unreadable(due.number) {
                blocking::remove(move || directory.remove()).await?;
            }
            return Ok(None);
        };
        let Ok(mut lifecycle) = exec.lifecycle.try_lock() else {
            // It is being deleted.
            return Ok(Some(Hold::Process));
        };
        if *lifecycle == Lifecycle::Deleted {
            return Ok(None);
        }
        if !due.though_read && exec.spool().is_read() {
            return Ok(Some(Hold::Reader));
        }
        if exec.lives() {
            return Ok(Some(Hold::Process));
        }
        let candidate = Arc::clone(&exec);
        // Its key is to be known before it is gone. Where that can't be written it stays.
        if blocking::remove(move || candidate.write_removal()).await?.is_err() {
            return Ok(Some(Hold::Process));
        }
        // Its readers see an end without an exit code.
        exec.spool().close();
        *lifecycle = Lifecycle::Deleted;
        exec.set_deleted();
        self.remove(&exec);
        let removed = Arc::clone(&exec);
        blocking::remove(move || removed.remove_directory()).await?;
        Ok(None)
    }

    /// Writes the index anew each time that most of it is of execs that are gone.
    async fn keep_index_short(self: &Arc<Self>) {
        loop {
            match self.bookkeeping().index() {
                Some(index) => index.until_long().await,
                None => return std::future::pending().await,
            }
            let registry = Arc::clone(self);
            let compacted = blocking::run(move || match registry.bookkeeping().index() {
                Some(index) => registry.compact(index),
                None => Ok(()),
            });
            if let Err(error) = compacted.await.map_err(io::Error::from).flatten() {
                tracing::warn!(%error, "the index of execs can't be written anew");
            }
        }
    }

    /// Of an exec that is gone its key alone is kept, as long as it is known.
    fn compact(&self, index: &IndexFile) -> io::Result<()> {
        index.compact(|line| {
            let removal = match line {
                IndexLine::Ended(entry) if self.get(&entry.record.item.id).is_some() => {
                    return Some(IndexLine::Ended(entry));
                }
                IndexLine::Ended(entry) => entry.removal()?,
                IndexLine::Removed(removal) => removal,
            };
            self.keys().holds(&removal.creation).then_some(IndexLine::Removed(removal))
        })
    }
}

impl Exec {
    /// Whether a process of its group is left, or one that may still write output.
    fn lives(&self) -> bool {
        let state = self.state();
        state.waker.strong_count() > 0 || state.group.as_ref().is_some_and(|group| !group.is_gone())
    }
}
