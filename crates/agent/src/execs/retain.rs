use std::{sync::Arc, time::Duration};

use super::{
    ended::Place,
    exec::{Exec, Lifecycle},
    registry::Registry,
    time::Time,
};
use crate::blocking::{self, Undone};

/// How long an exec is left alone of which a process lives.
const HOLD: Duration = Duration::from_mins(1);

/// How many are removed before the index file is looked at.
const BATCH: usize = 64;

impl Registry {
    /// Removes what has ended and is over the limits, until no more execs are taken: one after the other, and
    /// what is on disk on a thread of its own, so that it holds up nothing else.
    pub(crate) async fn retain(self: Arc<Self>) {
        loop {
            let mut removed = 0;
            while removed < BATCH
                && let Some(place) = self.next_due()
            {
                removed += 1;
                if let Err(error) = self.expire(place).await {
                    tracing::error!(%error, "what is on disk of an exec could not be removed");
                }
            }
            if self.is_stopping() {
                return;
            }
            if removed == 0 {
                self.ledger().wait().await;
            } else {
                self.tidy_index().await;
            }
        }
    }

    fn next_due(&self) -> Option<Place> {
        if self.is_stopping() { None } else { self.ledger().ends().due(Time::now()) }
    }

    /// Removes an exec that has ended, unless a process of it lives. Nothing is signalled.
    async fn expire(&self, place: Place) -> Result<(), Undone> {
        let Some(exec) = self.by_number(place.number) else {
            self.ledger().ends().remove(place);
            return Ok(());
        };
        let mut lifecycle = exec.lifecycle.lock().await;
        if lives(&exec).await? {
            self.ledger().ends().hold(place, Time::now().plus(HOLD));
            return Ok(());
        }
        if *lifecycle != Lifecycle::Deleted {
            // Its readers see an end without an exit code.
            exec.spool().close();
            *lifecycle = Lifecycle::Deleted;
            self.remove(&exec);
            let exec = Arc::clone(&exec);
            blocking::remove(move || exec.remove_from_disk()).await?;
        }
        // It is in nobody's way if it was removed otherwise.
        self.ledger().ends().remove(place);
        Ok(())
    }

    async fn tidy_index(self: &Arc<Self>) {
        let registry = Arc::clone(self);
        let tidied = blocking::run(move || {
            let Some(index) = registry.ledger().index() else {
                return Ok(());
            };
            let count = registry.ledger().ends().len();
            index.tidy(count, |id| registry.get(id).is_some())
        });
        match tidied.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the index of execs can't be written anew"),
            Err(error) => tracing::error!(%error, "the index of execs was not written anew"),
        }
    }
}

/// Whether a process of its group is left. In a session that takes a look at all processes.
async fn lives(exec: &Arc<Exec>) -> Result<bool, Undone> {
    let group = exec.state().group.clone();
    let Some(group) = group else {
        return Ok(false);
    };
    group.with(|group| !group.is_gone()).await
}
