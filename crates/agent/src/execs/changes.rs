//! What has changed in the list of execs, for those who follow it.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::tokens::{ExecRef, TokenId};

/// The most changes that are remembered. A reader that is further behind gets the whole list.
const MAX_CHANGES: usize = 8192;

/// The changes of all execs, each with a number. A reader remembers the number up to which it knows them, and
/// nothing else: however slow it is and however many readers there are, a change costs the same.
#[derive(Debug, Default)]
pub(super) struct Changes {
    log: Mutex<Log>,
    /// The number of the newest change.
    newest: watch::Sender<u64>,
}

impl Changes {
    /// The exec of that number is new, or not as it was.
    pub(super) fn changed(&self, exec: u64) {
        self.push(Change::Changed(exec));
    }

    /// Removal of that exec.
    pub(super) fn removed(&self, exec: RemovedExec) {
        self.push(Change::Removed(exec));
    }

    fn push(&self, change: Change) {
        let mut log = self.log();
        let newest = log.push(change);
        // Under the lock, so that a higher number is never taken back.
        self.newest.send_replace(newest);
    }

    /// Tells the number of the newest change. A receiver that looks late sees the newest one.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// What has changed since the change of that number.
    pub(super) fn since(&self, known: u64) -> ChangesSince {
        self.log().since(known)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
enum Change {
    Changed(u64),
    Removed(RemovedExec),
}

/// Memory of an exec that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemovedExec {
    pub(crate) id: String,
    creator: Option<TokenId>,
}

impl RemovedExec {
    /// Its id, and who has created it.
    pub(crate) fn named(&self) -> ExecRef<'_> {
        ExecRef { id: &self.id, creator: self.creator.as_ref() }
    }
}

impl From<ExecRef<'_>> for RemovedExec {
    fn from(exec: ExecRef<'_>) -> Self {
        Self { id: exec.id.into(), creator: exec.creator.cloned() }
    }
}

/// The newest changes: `entries` are those up to the number `newest`.
#[derive(Debug, Default)]
struct Log {
    entries: VecDeque<Change>,
    newest: u64,
}

/// What a reader does not know yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChangesSince {
    /// These, and it then knows the changes up to number `newest`. An exec that is among the `changed` may have
    /// been removed after that.
    Changes { newest: u64, changed: BTreeSet<u64>, removed: Vec<RemovedExec> },
    /// More than is remembered.
    TooMany,
}

impl Log {
    fn push(&mut self, change: Change) -> u64 {
        if self.entries.len() == MAX_CHANGES {
            self.entries.pop_front();
        }
        self.entries.push_back(change);
        self.newest += 1;
        self.newest
    }

    fn since(&self, known: u64) -> ChangesSince {
        let behind = usize::try_from(self.newest.saturating_sub(known)).unwrap_or(usize::MAX);
        let Some(first) = self.entries.len().checked_sub(behind) else {
            return ChangesSince::TooMany;
        };
        let (mut changed, mut removed) = (BTreeSet::new(), Vec::new());
        for change in self.entries.range(first..) {
            match change {
                Change::Changed(exec) => _ = changed.insert(*exec),
                Change::Removed(exec) => removed.push(exec.clone()),
            }
        }
        ChangesSince::Changes { newest: self.newest, changed, removed }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A reader that knows a list, and follows the changes of the real one.
    fn follow(
        known: &mut BTreeMap<u64, u32>,
        real: &BTreeMap<u64, u32>,
        since: ChangesSince,
    ) -> u64 {
        let ChangesSince::Changes { newest, changed, removed } = since else { panic!("too many") };
        for exec in changed {
            if let Some(state) = real.get(&exec) {
                known.insert(exec, *state);
            }
        }
        for exec in removed {
            known.remove(&exec.id.parse().unwrap());
        }
        newest
    }

    proptest! {
        #[test]
        fn a_reader_has_the_list_however_seldom_it_looks(
            steps in prop::collection::vec((0_u64..20, 0_u8..4), 0..200),
        ) {
            let changes = Changes::default();
            let (mut real, mut known) = (BTreeMap::new(), BTreeMap::new());
            let mut at = 0;
            let mut next = 0;
            for (exec, what) in steps {
                match what {
                    0 => {
                        next += 1;
                        real.insert(next, 0);
                        changes.changed(next);
                    }
                    1 => if let Some(state) = real.get_mut(&exec) {
                        *state += 1;
                        changes.changed(exec);
                    },
                    2 => if real.remove(&exec).is_some() {
                        changes.removed(ExecRef { id: &exec.to_string(), creator: None }.into());
                    },
                    _ => {
                        at = follow(&mut known, &real, changes.since(at));
                        prop_assert_eq!(&known, &real);
                        prop_assert_eq!(at, *changes.watch().borrow());
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_who_is_further_behind_is_told() {
        let changes = Changes::default();
        for exec in 0..MAX_CHANGES as u64 {
            changes.changed(exec);
        }
        assert!(matches!(changes.since(0), ChangesSince::Changes { .. }));
        changes.changed(0);
        assert_eq!(changes.since(0), ChangesSince::TooMany);
        assert_eq!(changes.log().entries.len(), MAX_CHANGES);
        let newest = MAX_CHANGES as u64 + 1;
        let nothing = ChangesSince::Changes { newest, changed: [].into(), removed: vec![] };
        assert_eq!(changes.since(newest), nothing);
    }
}
