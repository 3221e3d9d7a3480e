use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use nix::unistd::{User, geteuid};
use sandpipe_policy::{
    document::{Network, Size, Span},
    effective::{Effective, Narrowable, Wider},
    files::{InvalidPlaces, Places, Roots, expand},
    machine::{self, Bubblewrap, NoWalls},
    walls::{self as plans, Held, Holders, Mechanism, Plan, PlanError, RLimit, Unheld, hold},
};

use super::{
    Walls, environment::environment, inside::Inside, options::InvalidOptions, running_program,
};
use crate::{
    limits::{LimitTree, needed},
    process::CommandLimits,
};

/// The policy of an agent, and what follows from it on this machine.
#[derive(Debug)]
pub(crate) struct AgentPolicy {
    pub(crate) effective: Arc<Effective>,
    pub(super) roots: Roots,
    held: Vec<Held>,
}

/// Where an agent is, and what is its own.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Without symbolic links.
    pub(crate) workspace: PathBuf,
    /// Its state directory and the files with its tokens.
    pub(crate) own_files: Vec<PathBuf>,
    /// The file with its policy.
    pub(crate) policy_file: Option<PathBuf>,
    /// The program that becomes the box.
    pub(crate) box_program: Option<OsString>,
}

/// Why the agent's policy can't be held. Nothing is run then.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is none.
    #[error(transparent)]
    Invalid(Box<dyn std::error::Error + Send + Sync>),
    /// A rule can't be held.
    #[error(transparent)]
    Places(#[from] InvalidPlaces),
    /// No walls can be built here.
    #[error(transparent)]
    NoWalls(#[from] NoWalls),
    /// It is not as narrow as it was, after a change of what its paths lead to.
    #[error(transparent)]
    Wider(#[from] Wider),
    /// They can't be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A limit can't be held.
    #[error(transparent)]
    Unheld(#[from] Unheld),
    /// The control group of its limits can't be made.
    #[error("the control group that holds its limits can't be made: {0}")]
    Cgroup(io::Error),
    /// The agent's own program is not known.
    #[error("the agent's own program can't be found: {0}")]
    Program(io::Error),
}

impl From<InvalidOptions> for PolicyError {
    fn from(error: InvalidOptions) -> Self {
        Self::Invalid(error.into())
    }
}

impl AgentPolicy {
    /// Finds what holds the limits of a policy. It may block.
    ///
    /// # Errors
    /// Something can't be held.
    pub(crate) fn new(
        effective: Effective,
        setting: &Setting,
        limits: &LimitTree,
    ) -> Result<Self, PolicyError> {
        let own_users = effective.has_walls() && !machine::is_root();
        let holders =
            Holders { controllers: limits.controllers(&needed(&effective.limits)), own_users };
        let held = hold(&effective.limits, &holders, effective.best_effort)?;
        let roots = Roots {
            workspace: setting.workspace.clone(),
            homes: homes(),
            homes_of_others: homes_of_others(),
            protected: protected(&setting.own_files),
            policy_file: setting.policy_file.clone(),
        };
        Ok(Self { effective: Arc::new(effective), roots, held })
    }

    /// The places that its rules mean, as the file system is now.
    ///
    /// # Errors
    /// A rule can't be held.
    pub(super) fn places(&self) -> Result<Places, PolicyError> {
        Ok(expand(&self.effective.files, &self.roots)?)
    }

    /// What holds the limits.
    pub(super) fn held(&self) -> &[Held] {
        &self.held
    }

    /// What a box is started with behind its role.
    pub(crate) fn box_arguments(&self) -> Vec<OsString> {
        self.inside().arguments().into_iter().map(Into::into).collect()
    }

    fn inside(&self) -> Inside {
        let relays = matches!(self.effective.network, Network::Allow(_));
        Inside::new(self.effective.has_walls(), relays, &self.held)
    }

    /// The walls around its box, which are never wider than another policy.
    ///
    /// # Errors
    /// They can't be built as the file system is now.
    pub(crate) fn walls(
        &self,
        bubblewrap: Bubblewrap,
        setting: &Setting,
        within: Option<Arc<Effective>>,
    ) -> Result<Arc<Walls>, PolicyError> {
        let walls = Walls { within, ..self.walls_by(bubblewrap, setting)? };
        // Now rather than with the first command.
        walls.plan()?;
        Ok(Arc::new(walls))
    }

    pub(super) fn walls_by(
        &self,
        bubblewrap: Bubblewrap,
        setting: &Setting,
    ) -> Result<Walls, PolicyError> {
        let program = setting.box_program.as_ref().map(|path| Path::new(path).canonicalize());
        let program = program.transpose().map_err(PolicyError::Program)?;
        let args = [crate::sandbox::ROLE.into()].into_iter().chain(self.box_arguments()).collect();
        let inside = plans::Box {
            program,
            args,
            workspace: self.roots.workspace.clone(),
            is_root: machine::is_root(),
            bubblewrap: bubblewrap.version,
            checks_places: true,
        };
        let (policy, roots) = (Arc::clone(&self.effective), self.roots.clone());
        Ok(Walls { policy, within: None, roots, bubblewrap: bubblewrap.path, inside })
    }

    /// The environment of commands.
    pub(crate) fn environment(
        &self,
        own: BTreeMap<OsString, OsString>,
    ) -> BTreeMap<OsString, OsString> {
        environment(&self.effective, own)
    }

    /// What each command may use, as far as it is the agent that ends one, or says what has.
    pub(crate) fn command_limits(&self) -> CommandLimits {
        let limits = &self.effective.limits;
        CommandLimits {
            wall_time: limits.wall_time.map(Span::duration),
            output: limits.output.map(Size::bytes),
            cpu_time: limits.cpu_time.map(Span::duration),
            file_size: limits.file_size.map(Size::bytes),
        }
    }

    /// How many files each process of a command may have open.
    pub(crate) fn open_files(&self) -> Option<u64> {
        let is_open_files = |held: &&Held| held.mechanism == Mechanism::Process(RLimit::OpenFiles);
        self.held.iter().find(is_open_files).map(|held| held.value)
    }
}

impl Walls {
    /// How they are built, as the file system is now.
    ///
    /// # Errors
    /// A rule can't be held, or commands have changed what a path leads to, so that the policy is wider now.
    pub(super) fn plan(&self) -> Result<Plan, PolicyError> {
        let places = expand(&self.policy.files, &self.roots)?;
        if let Some(outer) = &self.within {
            let outer_places = expand(&outer.files, &self.roots)?;
            Narrowable { policy: &self.policy, places: &places }
                .check_within(&Narrowable { policy: outer, places: &outer_places })?;
        }
        // The program of an agent that runs for long may be replaced by another version, which is not to become its box.
        let program = self.inside.program.clone().or_else(running_program::path);
        let inside = plans::Box { program, ..self.inside.clone() };
        Ok(plans::plan(&self.policy, &places, &inside)?)
    }
}

/// The home in the environment, and the one in the user database.
fn homes() -> Vec<PathBuf> {
    let of_environment = env::var_os("HOME").map(PathBuf::from);
    let of_user = User::from_uid(geteuid()).ok().flatten().map(|user| user.dir);
    let mut homes: Vec<PathBuf> = Vec::new();
    for home in of_environment.into_iter().chain(of_user) {
        let home = home.canonicalize().unwrap_or(home);
        if home.is_absolute() && home != Path::new("/") && !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// Those of all whom root may run commands as, as far as they are in the file of users (passwd(5)).
fn homes_of_others() -> Vec<PathBuf> {
    if !machine::is_root() {
        return Vec::new();
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let homes = users.lines().filter_map(|user| user.split(':').nth(5)).map(PathBuf::from);
    let homes = homes.filter_map(|home| home.canonicalize().ok());
    let is_home = |home: &PathBuf| {
        home.is_dir()
            && home != Path::new("/")
            && !home.starts_with("/proc")
            && !home.starts_with("/dev")
    };
    homes.filter(is_home).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The agent's own files, and sockets that the environment names, wherever they are.
fn protected(own_files: &[PathBuf]) -> Vec<PathBuf> {
    let sockets =
        ["DOCKER_HOST", "CONTAINER_HOST", "SSH_AUTH_SOCK"].into_iter().filter_map(|name| {
            let value = env::var(name).ok()?;
            Some(PathBuf::from(value.strip_prefix("unix://").unwrap_or(&value)))
        });
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let all = own_files.iter().cloned().chain(sockets).chain(runtime);
    // Those that are made anew are not the machine's.
    let is_place = |path: &PathBuf| {
        path.is_absolute()
            && !path.starts_with("/proc")
            && !path.starts_with("/dev")
            && path != Path::new("/")
    };
    all.filter(is_place).collect()
}
