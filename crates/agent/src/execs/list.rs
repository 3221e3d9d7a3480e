//! The list of all execs, a part at a time, and what has changed in it.

use std::sync::Arc;

use tokio::sync::watch;

use super::{
    changes::{ChangesSince, RemovedExec},
    exec::Exec,
    registry::Registry,
};

/// How many execs are looked at in one go.
const PAGE: usize = 256;

/// A place in the list of all execs, from the newest to the oldest.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// The number that the next ones are below.
    below: u64,
    is_last: bool,
}

/// What a reader of changes gets next.
#[derive(Debug)]
pub(crate) enum Update {
    /// The execs that are new, or not as they were, newest first, and those that are gone.
    Changes { changed: Vec<Arc<Exec>>, removed: Vec<RemovedExec> },
    /// It is too far behind: the list is to be read anew.
    Resync,
}

impl Cursor {
    /// The beginning.
    pub(crate) fn first() -> Self {
        Self { below: u64::MAX, is_last: false }
    }

    /// Whether it is at the end.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }
}

impl Registry {
    /// The next execs of the list, as they are now. Those that are created meanwhile are not
    /// among them: whoever follows the list is told of them.
    pub(crate) fn next_page(&self, cursor: &mut Cursor) -> Vec<Arc<Exec>> {
        let execs = self.execs();
        let mut rest = execs.by_number.range(..cursor.below).rev().map(|(_, exec)| exec);
        let found: Vec<_> = rest.by_ref().take(PAGE).map(Arc::clone).collect();
        cursor.is_last = rest.next().is_none();
        cursor.below = found.last().map_or(0, |last| last.number);
        found
    }

    /// Tells the number of the newest change of the list. A receiver that looks late sees the newest one.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.bookkeeping().changes.watch()
    }

    /// What has changed since the change of number `known`, which becomes the newest one.
    pub(crate) fn changes_since(&self, known: &mut u64) -> Update {
        match self.bookkeeping().changes.since(*known) {
            ChangesSince::TooMany => Update::Resync,
            ChangesSince::Changes { newest, changed, removed } => {
                *known = newest;
                let execs = self.execs();
                let get = |number| execs.by_number.get(number).cloned();
                Update::Changes { changed: changed.iter().rev().filter_map(get).collect(), removed }
            }
        }
    }
}
