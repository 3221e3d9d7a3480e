use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use sandpipe_policy::{
    Program,
    document::Policy,
    effective::{Effective, Narrowable, Wider, effective},
    files::Places,
    machine,
};

use super::{
    AgentPolicy, PolicyError, PolicyOptions, Setting, environment::passed, options::written,
};
use crate::{
    limits::{LimitGroup, LimitTree},
    process::{FileLimit, SpawnDefaults},
    sandbox::{BoxClient, BoxCommand, hold_reaping},
};

/// How many narrower policies have a box at once.
const MAX_NARROWER: usize = 16;

/// The policy of an agent, and the narrower ones that creates have named: each has a box of its own.
#[derive(Debug)]
pub(crate) struct Policies {
    own: AgentPolicy,
    setting: Setting,
    commands: CommandSetting,
    /// The bubblewrap that was there before the first command. None where none was, and no policy was to be held.
    bubblewrap: Option<Program>,
    /// Those that were used last come last.
    narrower: Mutex<Vec<Narrower>>,
    /// The cgroup with the limits of its own.
    group: Option<Arc<LimitGroup>>,
    /// It is removed after all groups.
    limits: LimitTree,
}

/// What commands get whatever the policy says, or have taken from them by it.
#[derive(Clone, Debug)]
pub(crate) struct CommandSetting {
    pub(crate) default_user: Option<String>,
    /// The environment.
    pub(crate) env: BTreeMap<OsString, OsString>,
    /// The namespace of their background processes, whatever a policy passes.
    pub(crate) namespace: String,
    pub(crate) file_limit: FileLimit,
}

/// Scripts of background processes read it: `crates/client/src/background/location.rs`.
const NAMESPACE_VARIABLE: &str = "SANDPIPE_NAMESPACE";

#[derive(Debug)]
struct Narrower {
    policy: Policy,
    defaults: Arc<SpawnDefaults>,
}

/// Why a create can't have the policy that it names. Nothing is run then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NarrowerError {
    #[error("\"policy\": {0}")]
    Invalid(String),
    #[error("\"policy\": {0}")]
    Wider(#[from] Wider),
    #[error("\"policy\": {0}")]
    Unheld(PolicyError),
    #[error(
        "\"policy\": commands run under {MAX_NARROWER} policies besides the agent's own already, and each takes a process: name one of those, or wait"
    )]
    TooMany,
}

impl From<PolicyError> for NarrowerError {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Wider(wider) => Self::Wider(wider),
            error => Self::Unheld(error),
        }
    }
}

impl NarrowerError {
    /// Whether it is the machine that lacks something, rather than the request that is wrong.
    pub(crate) fn is_lack(&self) -> bool {
        use PolicyError::{NoBubblewrap, NoWalls};
        matches!(self, Self::Unheld(NoWalls(_) | NoBubblewrap(_)))
    }
}

impl Policies {
    /// Reads the policy of an agent. It may block.
    ///
    /// # Errors
    /// There is none, or it can't be held on this machine.
    pub(crate) fn new(
        options: &PolicyOptions,
        setting: Setting,
        commands: CommandSetting,
    ) -> Result<(Arc<Self>, SpawnDefaults), PolicyError> {
        let limits = LimitTree::default();
        let own = AgentPolicy::new(options.effective()?, &setting, &limits)?;
        let group = limits.group(own.held(), None).map_err(PolicyError::Cgroup)?;
        let places = own.effective.has_walls().then(|| own.places()).transpose()?;
        let places = places.as_ref();
        let bubblewrap = match own.find_bubblewrap(places) {
            Err(_) if !own.effective.has_walls() => None,
            found => Some(found?),
        };
        let narrower = Mutex::default();
        let policies = Self { own, setting, commands, bubblewrap, narrower, group, limits };
        let defaults = policies.spawn_defaults(
            &policies.own,
            places.as_slice(),
            None,
            policies.group.clone(),
        )?;
        Ok((Arc::new(policies), defaults))
    }

    /// The agent's own.
    pub(crate) fn own(&self) -> &Effective {
        &self.own.effective
    }

    /// The directory that commands run in by default.
    pub(crate) fn workspace(&self) -> &Path {
        &self.setting.workspace
    }

    /// What a command gets whose create names a policy. It may block.
    ///
    /// # Errors
    /// It is none, wider than the agent's own, or can't be held.
    pub(crate) fn narrower(&self, text: &str) -> Result<Arc<SpawnDefaults>, NarrowerError> {
        let policy = written(text).map_err(|error| NarrowerError::Invalid(error.to_string()))?;
        // While one is made others wait: they may ask for the same.
        let mut known = self.narrower.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = known.iter().position(|known| known.policy == policy) {
            let narrower = known.remove(index);
            let defaults = Arc::clone(&narrower.defaults);
            known.push(narrower);
            return Ok(defaults);
        }
        let effective =
            effective(&policy).map_err(|error| NarrowerError::Invalid(error.to_string()))?;
        let mut inner = AgentPolicy::new(effective, &self.setting, &self.limits)?;
        inner.take_over(&self.own);
        let (places, own_places) = (inner.places()?, self.own.places()?);
        Narrowable { policy: &inner.effective, places: &places }
            .check_within(&Narrowable { policy: &self.own.effective, places: &own_places })?;
        if known.len() >= MAX_NARROWER {
            let idle = known.iter().position(|known| is_idle(&known.defaults));
            known.remove(idle.ok_or(NarrowerError::TooMany)?).defaults.process_box.end();
        }
        let group = self.limits.group(inner.held(), self.group.as_ref());
        let group = group.map_err(PolicyError::Cgroup)?;
        let defaults = Arc::new(self.spawn_defaults(
            &inner,
            &[&places, &own_places],
            Some(&self.own),
            group,
        )?);
        known.push(Narrower { policy, defaults: Arc::clone(&defaults) });
        Ok(defaults)
    }

    /// Ends the boxes of the narrower ones, with what they still have, and removes the cgroups of all. Its own box has ended before.
    pub(crate) fn end(&self) {
        let known =
            std::mem::take(&mut *self.narrower.lock().unwrap_or_else(PoisonError::into_inner));
        for narrower in known {
            narrower.defaults.process_box.end();
        }
        self.limits.remove();
    }

    fn spawn_defaults(
        &self,
        policy: &AgentPolicy,
        sandboxes: &[&Places],
        within: Option<&AgentPolicy>,
        limit_group: Option<Arc<LimitGroup>>,
    ) -> Result<SpawnDefaults, PolicyError> {
        let walls = if policy.effective.has_walls() {
            // What is tried is a child of this process, whose end nobody else is to hear of.
            let not_reaped = hold_reaping();
            let program = self.bubblewrap.clone();
            let program = program.map_or_else(|| self.own.find_bubblewrap(None), Ok)?;
            let bubblewrap = machine::bubblewrap(&program)?;
            drop(not_reaped);
            let outer = within.map(|outer| Arc::clone(&outer.effective));
            Some(policy.walls(bubblewrap, &self.setting, outer, sandboxes)?)
        } else {
            None
        };
        let told = policy.box_arguments();
        let command = BoxCommand::new(self.setting.box_program.as_ref(), told, walls);
        let CommandSetting { default_user, env, namespace, file_limit } = self.commands.clone();
        // It may name a variable that the other one withholds for its value.
        let env = match within {
            Some(outer) => passed(&outer.effective, env),
            None => env,
        };
        let stores = policy.stores(&env);
        let mut env = policy.environment(env);
        env.insert(NAMESPACE_VARIABLE.into(), namespace.into());
        Ok(SpawnDefaults {
            workspace: self.setting.workspace.clone(),
            default_user,
            stores,
            env,
            file_limit: file_limit.of_commands_at_most(policy.open_files()),
            limits: policy.command_limits(),
            limit_group,
            process_box: Arc::new(BoxClient::new(command)),
            policy: policy.effective.name().to_owned(),
        })
    }
}

/// Whether nothing runs in a box, and nothing is about to.
fn is_idle(defaults: &Arc<SpawnDefaults>) -> bool {
    let is_unused = Arc::strong_count(defaults) == 1;
    is_unused && Arc::strong_count(&defaults.process_box) == 1 && defaults.process_box.is_idle()
}
