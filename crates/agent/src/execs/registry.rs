use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    bookkeeping::Bookkeeping, context::ExecContext, directory::Directory, ended::RetentionLimits,
    exec::Exec, idempotency::Keys,
};
use crate::{
    output::SpoolLimit, process::SpawnDefaults, sandbox::Group, state_dir::Keep,
    time_limits::OUTPUT_SILENCE, walls::Policies,
};

/// All execs of the agent.
#[derive(Debug)]
pub(crate) struct Registry {
    spawn_defaults: SpawnDefaults,
    /// Where a create finds the one that it names.
    policies: Option<Arc<Policies>>,
    context: ExecContext,
    keep: Keep,
    execs: Mutex<Execs>,
    keys: Keys,
}

#[derive(Debug, Default)]
pub(super) struct Execs {
    by_id: HashMap<String, Arc<Exec>>,
    pub(super) by_number: BTreeMap<u64, Arc<Exec>>,
    /// What an earlier agent left and nobody can read, by a number as execs have.
    unreadable: HashMap<u64, Directory>,
    /// How many there have ever been.
    count: u64,
    /// No more are taken.
    stopping: bool,
}

impl Registry {
    /// One that keeps whatever has ended.
    pub(crate) fn new(
        spawn_defaults: SpawnDefaults,
        spools: PathBuf,
        spool_limit: SpoolLimit,
        keep: Keep,
    ) -> Self {
        let bookkeeping = Arc::new(Bookkeeping::new(RetentionLimits::NONE));
        Self {
            spawn_defaults,
            policies: None,
            context: ExecContext {
                spools,
                spool_limit,
                output_silence: OUTPUT_SILENCE,
                bookkeeping,
            },
            keep,
            execs: Mutex::default(),
            keys: Keys::default(),
        }
    }

    /// The same, empty, that keeps no more of what has ended than this.
    pub(crate) fn keeping(self, limits: RetentionLimits) -> Self {
        let bookkeeping = Arc::new(Bookkeeping::new(limits));
        Self { context: ExecContext { bookkeeping, ..self.context }, ..self }
    }

    /// The same, whose commands' output is complete after so long a silence.
    pub(crate) fn with_output_silence(self, output_silence: Duration) -> Self {
        Self { context: ExecContext { output_silence, ..self.context }, ..self }
    }

    /// The same, where creates may name policies.
    pub(crate) fn with_policies(self, policies: Arc<Policies>) -> Self {
        Self { policies: Some(policies), ..self }
    }

    /// The exec of that id.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Exec>> {
        self.execs().by_id.get(id).cloned()
    }

    /// The id of the exec that has these processes.
    pub(crate) fn id_of(&self, group: &Arc<Group>) -> Option<String> {
        let is_its = |exec: &&Arc<Exec>| {
            exec.state().group.as_ref().is_some_and(|its| Arc::ptr_eq(its, group))
        };
        self.execs().by_id.values().find(is_its).map(|exec| exec.id.clone())
    }

    /// As whom those execs run that asked for a user, of which something is left.
    pub(crate) fn users(&self) -> BTreeSet<String> {
        let execs = self.execs();
        let left = execs
            .by_id
            .values()
            .filter(|exec| exec.state().group.as_ref().is_some_and(|group| !group.is_gone()));
        left.filter_map(|exec| exec.description.user.clone()).collect()
    }

    /// Adds an exec of an earlier agent, unless there is one of that number; returns whether it did.
    pub(super) fn insert_recovered(&self, exec: Exec) -> bool {
        let mut execs = self.execs();
        if execs.by_number.contains_key(&exec.number) {
            return false;
        }
        execs.count = execs.count.max(exec.number);
        execs.put(Arc::new(exec));
        true
    }

    /// Adds what is no exec and is removed like one, when all are there that have a number; returns its number.
    pub(super) fn insert_unreadable(&self, directory: Directory) -> u64 {
        let mut execs = self.execs();
        execs.count += 1;
        let number = execs.count;
        execs.unreadable.insert(number, directory);
        number
    }

    pub(super) fn take_unreadable(&self, number: u64) -> Option<Directory> {
        self.execs().unreadable.remove(&number)
    }

    /// Adds the exec that `make` makes of its number; `None` when no more are taken.
    pub(super) fn insert(&self, make: impl FnOnce(u64) -> Exec) -> Option<Arc<Exec>> {
        let mut execs = self.execs();
        if execs.stopping {
            return None;
        }
        execs.count += 1;
        let exec = Arc::new(make(execs.count));
        execs.put(Arc::clone(&exec));
        // Before another gets a number: readers of the changes are told of the older of two first.
        exec.changed();
        Some(exec)
    }

    pub(super) fn remove(&self, exec: &Exec) {
        let mut execs = self.execs();
        execs.by_id.remove(&exec.id);
        execs.by_number.remove(&exec.number);
        drop(execs);
        self.bookkeeping().changes.removed(exec.named().into());
        self.bookkeeping().ended_execs().remove(exec.number);
    }

    /// Takes no more execs; returns those that there are.
    pub(super) fn refuse_new(&self) -> Vec<Arc<Exec>> {
        self.execs().stopping = true;
        self.bookkeeping().wake();
        self.all()
    }

    pub(super) fn all(&self) -> Vec<Arc<Exec>> {
        self.execs().by_id.values().cloned().collect()
    }

    pub(super) fn by_number(&self, number: u64) -> Option<Arc<Exec>> {
        self.execs().by_number.get(&number).cloned()
    }

    /// Whether no more execs are taken.
    pub(super) fn is_stopping(&self) -> bool {
        self.execs().stopping
    }

    pub(super) fn spawn_defaults(&self) -> &SpawnDefaults {
        &self.spawn_defaults
    }

    pub(super) fn policies(&self) -> Option<&Policies> {
        self.policies.as_deref()
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Whether execs are to be known to an agent that starts later.
    pub(super) fn keep(&self) -> Keep {
        self.keep
    }

    pub(super) fn context(&self) -> &ExecContext {
        &self.context
    }

    pub(super) fn bookkeeping(&self) -> &Bookkeeping {
        &self.context.bookkeeping
    }

    pub(super) fn execs(&self) -> MutexGuard<'_, Execs> {
        self.execs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Registry {
    /// One that has its spools in that directory.
    pub(crate) fn for_test(spools: &std::path::Path, keep: Keep) -> Self {
        let limit = SpoolLimit::new(1 << 20).unwrap();
        Self::new(SpawnDefaults::for_test(), spools.into(), limit, keep)
    }
}

impl Execs {
    fn put(&mut self, exec: Arc<Exec>) {
        self.by_number.insert(exec.number, Arc::clone(&exec));
        self.by_id.insert(exec.id.clone(), exec);
    }
}
