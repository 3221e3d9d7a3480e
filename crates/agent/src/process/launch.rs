use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use nix::{
    errno::Errno,
    unistd::{AccessFlags, eaccess},
};
use sandpipe_protocol::{CreateExecRequest, TerminalSize};

use super::{
    command_limits::CommandLimits,
    limits::{DescriptorPermit, FileLimit, TooManyDescriptors},
    user::{Identity, UserError},
};
use crate::{limits::LimitGroup, sandbox::BoxClient};

/// What every command gets from the agent, unless its request says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct SpawnDefaults {
    /// The default working directory.
    pub(crate) workspace: PathBuf,
    /// The default user, `user[:group]`.
    pub(crate) default_user: Option<String>,
    /// The environment.
    pub(crate) env: BTreeMap<OsString, OsString>,
    /// Variables that lead tools to stores of the agent's user.
    pub(crate) stores: BTreeMap<OsString, OsString>,
    /// The limit on open files.
    pub(crate) file_limit: FileLimit,
    /// What else it may use.
    pub(crate) limits: CommandLimits,
    /// The cgroup that all commands are in together.
    pub(crate) limit_group: Option<Arc<LimitGroup>>,
    /// What starts it.
    pub(crate) process_box: Arc<BoxClient>,
    /// The policy that it is held to, by its name.
    pub(crate) policy: String,
}

#[cfg(test)]
impl SpawnDefaults {
    /// The root directory, and nothing in the environment.
    pub(crate) fn for_test() -> Self {
        Self {
            workspace: "/".into(),
            default_user: None,
            env: BTreeMap::new(),
            stores: BTreeMap::new(),
            file_limit: FileLimit::raise().unwrap(),
            limits: CommandLimits::default(),
            limit_group: None,
            process_box: Arc::new(BoxClient::for_test()),
            policy: "open".into(),
        }
    }
}

/// A command that was found fit to be started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// The size of its terminal, if it has one.
    pub(crate) terminal: Option<TerminalSize>,
    /// Whether standard input stays open.
    pub(crate) interactive: bool,
    /// Whether all that it starts is stopped with it.
    pub(super) contain: bool,
    pub(crate) identity: Option<Identity>,
    pub(crate) cwd: PathBuf,
    /// The whole environment.
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) file_limit: FileLimit,
    pub(crate) limits: CommandLimits,
    pub(super) limit_group: Option<Arc<LimitGroup>>,
    pub(crate) process_box: Arc<BoxClient>,
    pub(crate) policy: String,
}

/// Why a request names no command that could be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidLaunch {
    #[error("\"command\" is empty: name a program, by its path or as found in PATH")]
    EmptyCommand,
    #[error("{field} {value:?} holds a NUL character, which ends a string for the system")]
    Nul { field: &'static str, value: String },
    #[error("\"env\" has the name {0:?}: a name is not empty and has no \"=\"")]
    EnvName(String),
    #[error("the working directory {} can't be used: {}", path.display(), errno.desc())]
    Cwd { path: PathBuf, errno: Errno },
    #[error("\"{0}\" is the size of a terminal: leave it out, or set \"pty\" to true")]
    NoTerminal(&'static str),
    #[error("\"{0}\" is 0: a terminal has at least 1 column and 1 row")]
    NoSize(&'static str),
    #[error(transparent)]
    User(#[from] UserError),
}

impl Launch {
    /// Checks a request and adds what it leaves open. It may block: it looks at the file system and
    /// at the user database.
    pub(crate) fn prepare(
        request: CreateExecRequest,
        spawn_defaults: &SpawnDefaults,
    ) -> Result<Self, InvalidLaunch> {
        let CreateExecRequest {
            command,
            args,
            autostart: _,
            interactive,
            pty,
            cols,
            rows,
            cwd,
            env,
            user,
            contain,
            policy: _,
        } = request;
        let terminal = terminal_of(pty.unwrap_or(false), cols, rows)?;
        let requested_env = env.unwrap_or_default();
        check_text(&command, &args, &requested_env)?;

        let cwd = match cwd {
            // A relative one is relative to the workspace.
            Some(cwd) => {
                check_nul("\"cwd\"", &cwd)?;
                spawn_defaults.workspace.join(cwd)
            }
            None => spawn_defaults.workspace.clone(),
        };
        if !spawn_defaults.process_box.has_walls() {
            check_cwd(&cwd)?;
        }

        let identity = user
            .as_ref()
            .or(spawn_defaults.default_user.as_ref())
            .map(|user| Identity::look_up(user))
            .transpose()?;

        let mut env = spawn_defaults.env.clone();
        if terminal.is_some() {
            env.insert("TERM".into(), "xterm-256color".into());
        }
        match &identity {
            Some(identity) => identity.apply_to(&mut env),
            None => env.extend(spawn_defaults.stores.clone()),
        }
        env.extend(requested_env.into_iter().map(|(name, value)| (name.into(), value.into())));
        Ok(Self {
            command,
            args,
            terminal,
            interactive: interactive.unwrap_or(true),
            contain: contain.unwrap_or(true),
            identity,
            cwd,
            env,
            file_limit: spawn_defaults.file_limit,
            limits: spawn_defaults.limits,
            limit_group: spawn_defaults.limit_group.clone(),
            process_box: Arc::clone(&spawn_defaults.process_box),
            policy: spawn_defaults.policy.clone(),
        })
    }

    /// How many bytes of memory it takes, more or less.
    pub(crate) fn size(&self) -> usize {
        let args = self.args.iter().map(|arg| arg.len() + size_of::<String>());
        let env = self.env.iter();
        let env = env.map(|(name, value)| name.len() + value.len() + 2 * size_of::<OsString>());
        self.command.len() + args.chain(env).sum::<usize>()
    }

    /// Takes the descriptors that its process needs.
    pub(crate) fn acquire_descriptors(&self) -> Result<DescriptorPermit, TooManyDescriptors> {
        DescriptorPermit::acquire(self.file_limit, self.interactive)
    }

    /// Looks once more whether the working directory can be used. Behind walls that shows only there.
    pub(super) fn check_cwd(&self) -> Result<(), InvalidLaunch> {
        if self.process_box.has_walls() { Ok(()) } else { check_cwd(&self.cwd) }
    }
}

fn terminal_of(
    pty: bool,
    cols: Option<u16>,
    rows: Option<u16>,
) -> Result<Option<TerminalSize>, InvalidLaunch> {
    let sides = [("cols", cols), ("rows", rows)];
    if let Some((name, _)) = sides.iter().find(|(_, side)| !pty && side.is_some()) {
        return Err(InvalidLaunch::NoTerminal(name));
    }
    if let Some((name, _)) = sides.iter().find(|(_, side)| *side == Some(0)) {
        return Err(InvalidLaunch::NoSize(name));
    }
    Ok(pty.then(|| TerminalSize { cols: cols.unwrap_or(80), rows: rows.unwrap_or(24) }))
}

fn check_text(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
) -> Result<(), InvalidLaunch> {
    if command.is_empty() {
        return Err(InvalidLaunch::EmptyCommand);
    }
    check_nul("\"command\"", command)?;
    for arg in args {
        check_nul("an item of \"args\"", arg)?;
    }
    for (name, value) in env {
        if name.is_empty() || name.contains('=') {
            return Err(InvalidLaunch::EnvName(shown(name)));
        }
        check_nul("a name of \"env\"", name)?;
        check_nul("a value of \"env\"", value)?;
    }
    Ok(())
}

fn check_nul(field: &'static str, value: &str) -> Result<(), InvalidLaunch> {
    if value.contains('\0') {
        return Err(InvalidLaunch::Nul { field, value: shown(value) });
    }
    Ok(())
}

/// The beginning of a value, which may be as large as a body.
fn shown(value: &str) -> String {
    value.chars().take(80).collect()
}

fn check_cwd(path: &Path) -> Result<(), InvalidLaunch> {
    let invalid = |errno| InvalidLaunch::Cwd { path: path.into(), errno };
    let metadata = path
        .metadata()
        .map_err(|error| invalid(Errno::from_raw(error.raw_os_error().unwrap_or(0))))?;
    if !metadata.is_dir() {
        return Err(invalid(Errno::ENOTDIR));
    }
    eaccess(path, AccessFlags::X_OK).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn_defaults() -> SpawnDefaults {
        let env = BTreeMap::from([("PATH".into(), "/bin".into())]);
        SpawnDefaults { env, ..SpawnDefaults::for_test() }
    }

    fn request() -> CreateExecRequest {
        CreateExecRequest { command: "true".into(), ..CreateExecRequest::default() }
    }

    fn error(request: CreateExecRequest) -> String {
        Launch::prepare(request, &spawn_defaults()).unwrap_err().to_string()
    }

    #[test]
    fn what_no_process_could_be_given_is_refused() {
        for command in ["", "a\0b"] {
            error(CreateExecRequest { command: command.into(), ..request() });
        }
        error(CreateExecRequest { args: vec!["a".into(), "b\0c".into()], ..request() });
        for name in ["", "A=B", "=", "A\0"] {
            error(CreateExecRequest {
                env: Some([(name.into(), "value".into())].into()),
                ..request()
            });
        }
        for cwd in ["/nowhere-at-all", "/dev/null", "a\0b", "dev/null"] {
            let message = error(CreateExecRequest { cwd: Some(cwd.into()), ..request() });
            assert!(message.contains("directory") || message.contains("NUL"));
        }
    }

    #[test]
    fn a_terminal_has_the_size_that_is_asked_for() {
        let sized = |pty, cols, rows| {
            let request = CreateExecRequest { pty: Some(pty), cols, rows, ..request() };
            Launch::prepare(request, &spawn_defaults()).map(|launch| launch.terminal)
        };
        for (cols, rows, expected) in [
            (None, None, TerminalSize { cols: 80, rows: 24 }),
            (Some(100), None, TerminalSize { cols: 100, rows: 24 }),
            (Some(u16::MAX), Some(1), TerminalSize { cols: u16::MAX, rows: 1 }),
        ] {
            assert_eq!(sized(true, cols, rows).unwrap(), Some(expected));
        }
        assert_eq!(sized(false, None, None).unwrap(), None);
        let message = |pty, cols, rows| sized(pty, cols, rows).unwrap_err().to_string();
        assert!(message(true, None, Some(0)).starts_with("\"rows\" is 0"));
        assert!(message(false, Some(100), None).contains("set \"pty\" to true"));
    }

    #[test]
    fn the_request_decides_over_the_defaults() {
        let env = |request| Launch::prepare(request, &spawn_defaults()).unwrap().env;
        let plain = env(request());
        assert_eq!(plain, spawn_defaults().env);
        let pty = env(CreateExecRequest { pty: Some(true), ..request() });
        assert_eq!(pty.get(&OsString::from("TERM")), Some(&"xterm-256color".into()));
        let own = env(CreateExecRequest {
            pty: Some(true),
            env: Some([("TERM".into(), "dumb".into()), ("PATH".into(), String::new())].into()),
            ..request()
        });
        assert_eq!(own.get(&OsString::from("TERM")), Some(&"dumb".into()));
        assert_eq!(own.get(&OsString::from("PATH")), Some(&OsString::new()));
    }
}
