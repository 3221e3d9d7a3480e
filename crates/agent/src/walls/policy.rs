use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use nix::unistd::{User, geteuid};
use sandpipe_policy::{
    Program,
    document::{Size, Span},
    effective::{Effective, Narrowable, Passing, Preset, Wider, secret_files},
    files::{Access, InvalidPlaces, Places, Roots, expand},
    machine::{self, Bubblewrap, NoWalls},
    walls::{
        self as plans, Held, Holders, Mechanism, Plan, PlanError, RLimit, Replacement, Unheld, hold,
    },
};

use super::{
    ToolSettings, Walls, copied_files::copied_files, environment::environment, inside::Inside,
    options::InvalidOptions, stores,
};
use crate::{
    find_program::{NoProgram, Untrusted, find_program},
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
    /// The program that becomes the box, where it is not the one that runs.
    pub(crate) box_program: Option<Program>,
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
    /// There is no bubblewrap that may be started.
    #[error(
        "a policy needs bubblewrap, and {0}: `apt-get install bubblewrap`, `dnf install bubblewrap`, or as your system has it"
    )]
    NoBubblewrap(NoProgram),
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
}

/// The message has its own in it, and is no further cause of it.
impl From<NoProgram> for PolicyError {
    fn from(error: NoProgram) -> Self {
        Self::NoBubblewrap(error)
    }
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
        let homes = homes();
        let has_stores = effective.presets.contains(&Preset::Caches) && effective.has_walls();
        let home = homes.first().filter(|_| has_stores);
        let stores = home.map(|home| stores::directory(&setting.workspace, home));
        let pnpm_store = home.and_then(|home| stores::pnpm_store(home));
        let roots = Roots {
            workspace: setting.workspace.clone(),
            homes,
            homes_of_others: homes_of_others(),
            protected: protected(&setting.own_files),
            secrets: named_secrets(&setting.workspace),
            policy_file: setting.policy_file.clone(),
            stores,
            pnpm_store,
        };
        Ok(Self { effective: Arc::new(effective), roots, held })
    }

    /// Takes over what another policy, which this one is to be within, has in place of the user's.
    pub(super) fn take_over(&mut self, outer: &Self) {
        if let Some(store) = &outer.roots.pnpm_store {
            self.roots.pnpm_store = Some(store.clone());
        }
    }

    /// The places that its rules mean, as the file system is now.
    ///
    /// # Errors
    /// A rule can't be held.
    pub(super) fn places(&self) -> Result<Places, PolicyError> {
        Ok(expand(&self.effective.files, &self.roots)?)
    }

    /// Finds bubblewrap where nobody can have put another program in its place: neither another user nor a command under this policy.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn find_bubblewrap(&self, places: Option<&Places>) -> Result<Program, PolicyError> {
        let working = env::current_dir().ok().and_then(|directory| directory.canonicalize().ok());
        let directories = working.into_iter().chain([self.roots.workspace.clone()]);
        // Where services and containers start, and everything is.
        let directories = directories.filter(|directory| directory != Path::new("/")).collect();
        let path = env::var_os("PATH").unwrap_or_default();
        let untrusted = Untrusted { directories, places };
        Ok(find_program("bwrap", &path, &untrusted)?)
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
        Inside::new(self.effective.has_walls(), &self.held)
    }

    /// The walls around its box, which are never wider than another policy. `sandboxes` has the places that its rules mean
    /// now, and behind them those of the other.
    ///
    /// # Errors
    /// They can't be built as the file system is now.
    pub(super) fn walls(
        &self,
        bubblewrap: Bubblewrap,
        setting: &Setting,
        within: Option<Arc<Effective>>,
        sandboxes: &[&Places],
    ) -> Result<Arc<Walls>, PolicyError> {
        let walls = Walls { within, ..self.walls_by(bubblewrap, setting) };
        walls.make_stores();
        // Now rather than with the first command.
        walls.plan_for(sandboxes)?;
        Ok(Arc::new(walls))
    }

    pub(super) fn walls_by(&self, bubblewrap: Bubblewrap, setting: &Setting) -> Walls {
        let args = [crate::sandbox::ROLE.into()].into_iter().chain(self.box_arguments()).collect();
        let inside = plans::Box {
            args,
            workspace: self.roots.workspace.clone(),
            is_root: machine::is_root(),
            bubblewrap: bubblewrap.version,
            checks_places: true,
        };
        let (policy, roots) = (Arc::clone(&self.effective), self.roots.clone());
        let (program, bubblewrap) = (setting.box_program.clone(), bubblewrap.program);
        let has_tool_settings = policy.presets.contains(&Preset::ToolSettings);
        let tool_settings =
            has_tool_settings.then(|| Arc::new(ToolSettings::new(self.roots.workspace.clone())));
        Walls { policy, within: None, roots, bubblewrap, program, inside, tool_settings }
    }

    /// The environment of commands.
    pub(crate) fn environment(
        &self,
        own: BTreeMap<OsString, OsString>,
    ) -> BTreeMap<OsString, OsString> {
        environment(&self.effective, own)
    }

    /// Makes the variables that lead tools to the workspace's own stores of packages, but for those
    /// that the policy sets, or passes by their very name, and those by which the user leads them
    /// to a place that commands may write.
    pub(crate) fn stores(
        &self,
        env: &BTreeMap<OsString, OsString>,
    ) -> BTreeMap<OsString, OsString> {
        let directory = self.roots.stores.as_ref().filter(|directory| directory.is_dir());
        let (Some(directory), Some(home)) = (directory, self.roots.homes.first()) else {
            return BTreeMap::new();
        };
        let places = LazyCell::new(|| self.places().ok());
        let is_kept = |name: &str, value: &OsStr| {
            let path = Path::new(value);
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            self.effective.passing(name.as_bytes(), value.as_bytes()) == Passing::Passed
                && (self.effective.passes_by_name(name.as_bytes())
                    || places.as_ref().is_some_and(|places| places.access(&path) == Access::Write))
        };
        let mut variables = stores::variables(directory, home, env, is_kept);
        if self.roots.pnpm_store.is_some() {
            variables.remove(OsStr::new("PNPM_HOME"));
        }
        variables.retain(|name, _| !self.effective.set.keys().any(|set| name == set.as_str()));
        variables
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
        let mut sandboxes = vec![&places];
        let outer_places;
        if let Some(outer) = &self.within {
            outer_places = expand(&outer.files, &self.roots)?;
            Narrowable { policy: &self.policy, places: &places }
                .check_within(&Narrowable { policy: outer, places: &outer_places })?;
            sandboxes.push(&outer_places);
        }
        self.plan_for(&sandboxes)
    }

    /// Plans them for the first of these places. Commands of the others could change what is in place of the user's, too.
    fn plan_for(&self, sandboxes: &[&Places]) -> Result<Plan, PolicyError> {
        let nothing = Places::default();
        let places = sandboxes.first().copied().unwrap_or(&nothing);
        let mut replacements = copied_files(&self.policy.network, self.inside.is_root);
        replacements.extend(self.pnpm_store(sandboxes));
        Ok(plans::plan(&self.policy, places, &self.inside, replacements)?)
    }

    /// Makes the directory that stays in place of the user's store of pnpm, if commands may write
    /// caches. None where those with one of these `places` could exchange it for a link.
    fn pnpm_store(&self, places: &[&Places]) -> Option<Replacement> {
        let Roots { workspace, homes, pnpm_store, .. } = &self.roots;
        let (Some(store), Some(home)) = (pnpm_store, homes.first()) else { return None };
        let has_private = places.first().is_some_and(|own| own.access(store) == Access::Private);
        if !has_private || !self.policy.presets.contains(&Preset::Caches) {
            return None;
        }
        let made = stores::make_pnpm_store(workspace, home).and_then(|own| {
            let is_writable = |places: &&Places| places.access(&own) == Access::Write;
            if places.iter().any(is_writable) {
                let message = format!("commands may write {}", own.display());
                return Err(io::Error::other(message));
            }
            Ok(own)
        });
        match made {
            Ok(own) => Some(Replacement::Directory(store.clone(), own)),
            Err(error) => {
                tracing::info!(%error, "the sandbox has its store of pnpm in memory");
                None
            }
        }
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
    // By tradition some users of the system have the directories of its programs, in which many files are.
    let of_programs = ["/usr/bin", "/usr/sbin"].map(PathBuf::from);
    let is_home = |home: &PathBuf| {
        home.is_dir()
            && home != Path::new("/")
            && !of_programs.contains(home)
            && !home.starts_with("/proc")
            && !home.starts_with("/dev")
    };
    homes.filter(is_home).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The files with secrets that the environment names.
fn named_secrets(workspace: &Path) -> Vec<PathBuf> {
    let files = |(name, value): (OsString, OsString)| {
        secret_files(name.as_bytes(), value.as_bytes(), workspace)
    };
    env::vars_os().flat_map(files).collect()
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
