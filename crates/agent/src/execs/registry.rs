use std::{
    cmp::Reverse,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sandpipe_protocol::ExecListResponse;
use tokio::sync::watch;

use super::{exec::Exec, idempotency::Keys};
use crate::{output::SpoolLimit, process::Surroundings, state_dir::Keep};

/// All execs of the agent.
#[derive(Debug)]
pub(crate) struct Registry {
    surroundings: Surroundings,
    /// The directory with a spool for each exec.
    spools: PathBuf,
    spool_limit: SpoolLimit,
    keep: Keep,
    execs: Mutex<Execs>,
    keys: Keys,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Execs {
    by_id: HashMap<String, Arc<Exec>>,
    /// How many there have ever been.
    count: u64,
    /// No more are taken.
    stopping: bool,
}

impl Registry {
    pub(crate) fn new(
        surroundings: Surroundings,
        spools: PathBuf,
        spool_limit: SpoolLimit,
        keep: Keep,
    ) -> Self {
        Self {
            surroundings,
            spools,
            spool_limit,
            keep,
            execs: Mutex::default(),
            keys: Keys::default(),
            changes: watch::Sender::default(),
        }
    }

    /// The exec of that id.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Exec>> {
        self.execs().by_id.get(id).cloned()
    }

    /// All execs as clients see them now, newest first.
    pub(crate) fn list(&self) -> ExecListResponse {
        let mut execs = self.all();
        execs.sort_unstable_by_key(|exec| Reverse(exec.number));
        ExecListResponse { execs: execs.iter().map(|exec| exec.item()).collect() }
    }

    /// Tells of each change of the list. A receiver that looks late sees that there was one.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Adds an exec that has its number already.
    pub(super) fn put_back(&self, exec: Arc<Exec>) {
        let mut execs = self.execs();
        execs.count = execs.count.max(exec.number);
        execs.by_id.insert(exec.id.clone(), exec);
    }

    /// Adds the exec that `make` makes of its number; `None` when no more are taken.
    pub(super) fn insert(&self, make: impl FnOnce(u64) -> Exec) -> Option<Arc<Exec>> {
        let mut execs = self.execs();
        if execs.stopping {
            return None;
        }
        execs.count += 1;
        let exec = Arc::new(make(execs.count));
        execs.by_id.insert(exec.id.clone(), Arc::clone(&exec));
        drop(execs);
        self.changes.send_replace(());
        Some(exec)
    }

    pub(super) fn remove(&self, exec: &Exec) {
        self.execs().by_id.remove(&exec.id);
        self.changes.send_replace(());
    }

    /// Takes no more execs; gives those that there are.
    pub(super) fn refuse_new(&self) -> Vec<Arc<Exec>> {
        self.execs().stopping = true;
        self.all()
    }

    pub(super) fn all(&self) -> Vec<Arc<Exec>> {
        self.execs().by_id.values().cloned().collect()
    }

    pub(super) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Whether execs are to be known to an agent that starts later.
    pub(super) fn keep(&self) -> Keep {
        self.keep
    }

    pub(super) fn spools(&self) -> &Path {
        &self.spools
    }

    pub(super) fn spool_limit(&self) -> SpoolLimit {
        self.spool_limit
    }

    pub(super) fn changes(&self) -> watch::Sender<()> {
        self.changes.clone()
    }

    fn execs(&self) -> MutexGuard<'_, Execs> {
        self.execs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
