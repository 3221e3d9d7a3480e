use std::{
    borrow::Cow,
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    io::{self, Write},
    net::{IpAddr, SocketAddr},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{Router, http::HeaderValue};
use rustix::process::{Resource, getrlimit};
use sandpipe_policy::{Program, effective::Summary};
use serde::Serialize;
use tokio::{
    runtime::{self, Runtime},
    sync::watch,
};

use crate::{
    blocking,
    execs::{Registry, StopError},
    features::Features,
    files::{Files, Uploads},
    http::{self, Console, HostPolicy},
    options::Options,
    ports::Ports,
    process::{FileLimit, Identity, open_statm},
    sandbox::{BoxClient, reap_children},
    server::{self, Carrier, Connections, Listener},
    shutdown::ShutdownRequests,
    state_dir::{Keep, StateDir, StateDirError, default_path},
    time_limits::TimeLimits,
    token::{self, LoadedTokens, TokenError, TokenSources, Tokens},
    tokens::ScopedTokens,
    walls::{CommandSetting, Policies, PolicyError, Setting},
};

/// Which part of the agent's descriptors may be connections. A reader of output takes one more, and a
/// command some.
const CONNECTIONS_SHARE: usize = 4;
/// How many connections there may be at once in any case: each takes some memory.
const MAX_CONNECTIONS: usize = 10_000;
/// How long the removal of one exec may take when the agent ends.
const SHUTDOWN_REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

/// An agent: its execs and who may use them.
pub struct Agent {
    registry: Arc<Registry>,
    files: Arc<Files>,
    uploads: Arc<Uploads>,
    process_box: Arc<BoxClient>,
    policies: Arc<Policies>,
    features: Arc<Features>,
    tokens: Arc<Tokens>,
    scoped_tokens: Arc<ScopedTokens>,
    admin_token_file: Option<PathBuf>,
    hosts: Arc<HostPolicy>,
    allow_origin: Vec<HeaderValue>,
    state_dir: StateDir,
    max_connections: usize,
    time_limits: TimeLimits,
    /// Becomes true when what has no end of its own is to end.
    over: watch::Sender<bool>,
}

/// Why the agent does not run, or did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent would be open to the network with a token that nobody chose.
    #[error(
        "listening on {0} opens the agent to other machines: give it a token of yours with \
         --admin-token-file or SANDPIPE_ADMIN_TOKEN, or listen on 127.0.0.1"
    )]
    NoTokenOfYours(SocketAddr),
    /// The workspace is no directory.
    #[error("the workspace {} is not a directory that exists", .0.display())]
    Workspace(PathBuf),
    /// There is no such default user, or the agent may not become it.
    #[error("--default-user: {0}")]
    DefaultUser(String),
    /// The state directory can't be used.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// The tokens can't be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The policy can't be held here.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The address can't be listened on.
    #[error("can't listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    /// The socket can't be made and listened on.
    #[error("can't listen on a socket at {}: {error}", path.display())]
    ListenSocket { path: PathBuf, error: io::Error },
    /// Standard input and output can't carry connections.
    #[error(
        "can't listen on standard input and output: {0}; both have to be pipes, as those of a container are"
    )]
    ListenStdio(io::Error),
    /// The system refuses something that the agent can't do without.
    #[error("can't {what}: {error}")]
    System { what: &'static str, error: io::Error },
    /// Some processes are left.
    #[error("some processes could not be stopped: {0}")]
    Unstoppable(String),
}

impl From<StopError> for AgentError {
    fn from(error: StopError) -> Self {
        Self::Unstoppable(error.to_string())
    }
}

/// The line that says that the agent is ready.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'a> {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    admin_token_file: Option<&'a Path>,
    policy: ReadyPolicy<'a>,
}

/// The policy of commands, and where they run.
#[derive(Serialize)]
struct ReadyPolicy<'a> {
    #[serde(flatten)]
    summary: Summary,
    workspace: Cow<'a, str>,
}

/// Makes the runtime that an agent runs on.
///
/// # Errors
/// The system refuses its threads.
pub fn runtime(options: &Options) -> io::Result<Runtime> {
    runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(options.time_limits().idle_thread_timeout)
        .build()
}

/// Runs an agent until it is told to stop.
///
/// # Errors
/// Why it does not run, or did not end as it should.
pub async fn run(options: &Options, console: Console) -> Result<(), AgentError> {
    let mut shutdown =
        ShutdownRequests::listen().map_err(|error| refused("listen to signals", error))?;
    let sources = token_sources(options);
    if options.listen_socket.is_none()
        && !options.listen_stdio
        && !options.listen.ip().is_loopback()
        && !token::is_given(sources)
    {
        return Err(AgentError::NoTokenOfYours(options.listen));
    }
    let agent = Agent::open(options)?;
    // After the token, which may be the beginning of it.
    if options.until_stdin_closes {
        shutdown.listen_to_stdin().map_err(|error| refused("watch standard input", error))?;
    }
    let (listener, carrier) = listen(options)?;
    let url = url_of(&listener).map_err(|error| refused("find its own address", error))?;
    // Before the first command, and after what can fail.
    let (process_box, policies) = (Arc::clone(&agent.process_box), Arc::clone(&agent.policies));
    let files = Arc::clone(&agent.files);
    process_box
        .run()
        .map_err(|error| refused("start the process that runs the commands", error))?;
    // Also where nobody is there to be told: what the box has made is removed with it.
    let outcome = match agent.announce(url) {
        Ok(()) => agent.serve(listener, carrier, console, &mut shutdown).await,
        Err(error) => Err(error),
    };
    files.workers.end();
    // It sleeps only if something holds that process up.
    process_box.end();
    policies.end();
    outcome
}

impl Agent {
    /// Takes the state directory, the tokens and the children of this process. It needs a runtime.
    ///
    /// # Errors
    /// Why it does not run, or did not end as it should.
    pub fn open(options: &Options) -> Result<Self, AgentError> {
        let workspace = match &options.workspace {
            Some(workspace) => workspace.clone(),
            None => env::current_dir().map_err(|error| refused("find the workspace", error))?,
        };
        let workspace = match workspace.canonicalize() {
            Ok(path) if path.is_dir() => path,
            _ => return Err(AgentError::Workspace(workspace)),
        };
        if let Some(user) = &options.default_user {
            Identity::look_up(user).map_err(|error| AgentError::DefaultUser(error.to_string()))?;
        }
        let keep = if options.ephemeral { Keep::Nothing } else { Keep::State };
        let state_dir = match &options.state_dir {
            Some(path) => path.clone(),
            None => default_path()?,
        };
        let state_dir = StateDir::take(&state_dir, keep)?;
        let LoadedTokens { tokens, admin_file } =
            token::load(token_sources(options), &state_dir.admin_token())?;
        let file_limit = FileLimit::raise()
            .map_err(|error| refused("raise the limit on open files", error.into()))?;
        let tokens_of_others = [&options.admin_token_file, &options.readonly_token_file];
        let own_files = tokens_of_others.into_iter().flatten().chain(&admin_file).cloned();
        let box_program = options.box_program.as_ref().map(|path| Program::open(Path::new(path)));
        let box_program = box_program.transpose();
        let setting = Setting {
            workspace,
            own_files: own_files.chain([state_dir.path().to_owned()]).collect(),
            policy_file: options.policy.file(),
            box_program: box_program
                .map_err(|error| refused("open the program that runs the commands", error))?,
        };
        let commands = CommandSetting {
            default_user: options.default_user.clone(),
            env: environment_of_commands(env::vars_os()),
            namespace: state_dir.id(),
            file_limit,
        };
        let (policies, spawn_defaults) = Policies::new(&options.policy, setting, commands)?;
        let process_box = Arc::clone(&spawn_defaults.process_box);
        let files = Arc::new(Files::new(&spawn_defaults));
        let uploads = Uploads::new(Arc::clone(&files));
        open_statm();
        reap_children().map_err(|error| refused("adopt orphaned processes", error))?;
        blocking::start().map_err(|error| refused("start the threads that read files", error))?;

        let largest_file = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let spool_limit = options.spool_limit.in_files_of(largest_file);
        let registry = Registry::new(spawn_defaults, state_dir.spools(), spool_limit, keep)
            .keeping(options.limits())
            .with_output_silence(options.time_limits().output_silence)
            .with_policies(Arc::clone(&policies));
        if let Some(index) = state_dir.index() {
            registry.recover(index).map_err(|error| refused("read the execs of before", error))?;
        }
        Ok(Self {
            registry: Arc::new(registry),
            files,
            uploads,
            process_box,
            policies,
            features: Arc::new(Features::without(&options.without)),
            tokens: Arc::new(tokens),
            scoped_tokens: Arc::default(),
            admin_token_file: admin_file,
            hosts: Arc::new(HostPolicy::new(options.listen.ip(), &options.allow_host)),
            allow_origin: options.allow_origin.clone(),
            state_dir,
            max_connections: file_limit.share(CONNECTIONS_SHARE).min(MAX_CONNECTIONS),
            time_limits: options.time_limits(),
            over: watch::Sender::new(false),
        })
    }

    /// The HTTP interface, with this console.
    pub fn app(&self, console: Console) -> Router {
        let app = http::App {
            registry: Arc::clone(&self.registry),
            files: Arc::clone(&self.files),
            ports: Ports::new(
                Arc::clone(&self.files),
                Arc::clone(&self.registry),
                Arc::clone(&self.process_box),
            ),
            uploads: Arc::clone(&self.uploads),
            policies: Arc::clone(&self.policies),
            features: Arc::clone(&self.features),
            tokens: Arc::clone(&self.tokens),
            scoped_tokens: Arc::clone(&self.scoped_tokens),
            hosts: Arc::clone(&self.hosts),
            allow_origin: self.allow_origin.clone(),
            ping_interval: self.time_limits.ping_interval,
            over: self.over.subscribe(),
        };
        http::router(app, console)
    }

    /// Says on standard output that the agent is ready, and where.
    fn announce(&self, url: String) -> Result<(), AgentError> {
        let policy = ReadyPolicy {
            summary: self.policies.own().summary(),
            workspace: self.policies.workspace().to_string_lossy(),
        };
        let ready = Ready { url, admin_token_file: self.admin_token_file.as_deref(), policy };
        let print = || {
            let line = serde_json::to_string(&ready)?;
            let mut stdout = io::stdout().lock();
            writeln!(stdout, "{line}")?;
            stdout.flush()
        };
        print().map_err(|error| refused("print the address", error))
    }

    /// Serves until it is told to stop; then stops every exec and ends.
    async fn serve(
        self,
        listener: Listener,
        carrier: Option<Carrier>,
        console: Console,
        shutdown: &mut ShutdownRequests,
    ) -> Result<(), AgentError> {
        let (closing, closed) = watch::channel(false);
        let limits = self.time_limits;
        let connections = Connections::new(self.max_connections, limits.stall_timeout);
        let retaining = tokio::spawn(Arc::clone(&self.registry).retain());
        if let Some(carrier) = carrier {
            shutdown.listen_to(carrier.carry(connections.clone(), closed.clone()));
        }
        tokio::spawn(server::serve(listener, self.app(console), connections.clone(), closed));

        shutdown.stop().await;
        tracing::info!("stopping");
        closing.send_replace(true);
        let stopped = self.registry.stop_all(limits.grace_period, shutdown.forced()).await;
        self.over.send_replace(true);
        // It ends by itself when no more execs are taken; nothing is removed twice at once.
        if tokio::time::timeout(SHUTDOWN_REMOVAL_TIMEOUT, retaining).await.is_err() {
            tracing::warn!("the file system holds up the removal of an exec");
        }
        // A client that does not read is cut off.
        if !connections.closed(limits.shutdown_idle_timeout, limits.shutdown_read_timeout).await {
            tracing::info!("some connections were cut off");
        }
        self.state_dir.leave().map_err(|error| refused("remove the output on disk", error))?;
        Ok(stopped?)
    }
}

/// Listens where the user says, and has what carries the connections if that is not the system.
fn listen(options: &Options) -> Result<(Listener, Option<Carrier>), AgentError> {
    if options.listen_stdio {
        let (listener, carrier) = server::listen_on_stdio().map_err(AgentError::ListenStdio)?;
        return Ok((listener, Some(carrier)));
    }
    let listener = match &options.listen_socket {
        Some(path) => server::listen_at_path(path)
            .map_err(|error| AgentError::ListenSocket { path: path.clone(), error })?,
        None => server::listen(options.listen)
            .map_err(|error| AgentError::Listen { address: options.listen, error })?,
    };
    Ok((listener, None))
}

/// The agent's own environment, without its secrets and settings.
fn environment_of_commands(
    own: impl Iterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let is_own = |name: &OsStr| name.as_bytes().starts_with(b"SANDPIPE_");
    own.filter(|(name, _)| !is_own(name)).collect()
}

fn token_sources(options: &Options) -> TokenSources<'_> {
    TokenSources {
        admin_file: options.admin_token_file.as_deref(),
        admin_stdin: options.admin_token_stdin,
        readonly_file: options.readonly_token_file.as_deref(),
    }
}

/// Where a client on this machine finds the agent.
fn url_of(listener: &Listener) -> io::Result<String> {
    Ok(match listener {
        Listener::Tcp(listener) => format!("http://{}", reachable(listener.local_addr()?)),
        Listener::Unix(listener) => {
            let address = listener.local_addr()?;
            format!("unix:{}", address.as_pathname().unwrap_or(Path::new("")).display())
        }
        Listener::Stdio(_) => "stdio:".to_owned(),
    })
}

/// An address that a client on this machine can connect to: a wildcard is none.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn refused(what: &'static str, error: io::Error) -> AgentError {
    AgentError::System { what, error }
}
