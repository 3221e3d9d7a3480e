//! Commands under a policy. Where no walls can be built these tests say so.

mod attempts;
mod devices;
mod evasion;
mod exchanged;
mod exhaustion;
mod forwards;
mod later_mounts;
mod limits;
mod named_pipes;
mod narrower;
mod network;
mod other_agents;
mod other_processes;
mod other_users;
mod placeholders;
mod planted_program;
mod policy_command;
mod policy_file;
mod proxied_programs;
mod refused;
mod replaced;
mod replaced_program;
mod running;
mod sockets;
mod ssh_settings;
mod stores;
mod tool_settings;

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::support::{Agent, NO_VISIBLE_DIRECTORY, needs, run_by, visible_directory};

/// Returns whether walls can be built here; says why the test is skipped where they can't.
pub(super) fn walls() -> bool {
    static MISSING: LazyLock<Option<String>> = LazyLock::new(|| {
        let mut bubblewrap = Command::new("bwrap");
        bubblewrap.args(["--unshare-user", "--ro-bind", "/", "/", "--unshare-pid", "true"]);
        let tried = bubblewrap.output().map_err(|error| error.to_string());
        match tried {
            Err(error) => Some(format!("bubblewrap: {error}")),
            Ok(tried) if !tried.status.success() => {
                let message = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
                Some(format!("bubblewrap that can make namespaces: {message}"))
            }
            Ok(_) => visible_directory().is_none().then(|| NO_VISIBLE_DIRECTORY.to_owned()),
        }
    });
    needs(MISSING.is_none(), MISSING.as_deref().unwrap_or_default())
}

/// Returns whether a program is there for this user.
pub(super) fn can_run(program: &str) -> bool {
    let version = if program == "go" { "version" } else { "--version" };
    // Outside of this project, which names a version of cargo.
    let output = Command::new(program).arg(version).current_dir("/").output();
    output.is_ok_and(|output| output.status.success())
}

/// Who an agent runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    Root,
    Ordinary,
}

/// A user that every system has, and who is not root.
const NOBODY: u32 = 65_534;

/// Whom these tests can be.
pub(super) fn users() -> &'static [User] {
    if geteuid().is_root() { &[User::Root, User::Ordinary] } else { &[User::Ordinary] }
}

/// An agent with a workspace and a home of its own.
pub(super) struct Walled {
    pub(super) agent: Agent,
    pub(super) workspace: PathBuf,
    pub(super) home: PathBuf,
    directory: TempDir,
}

impl Walled {
    pub(super) fn start(args: &[&str]) -> Self {
        Self::start_as(users()[0], args)
    }

    pub(super) fn start_as(user: User, args: &[&str]) -> Self {
        Self::start_with(user, args, |_, _| {}, |_, _| {})
    }

    /// The same, after `fill` has had its say about workspace and home, and `change` about the command, with the home.
    pub(super) fn start_with(
        user: User,
        args: &[&str],
        fill: impl FnOnce(&Path, &Path),
        change: impl FnOnce(&mut Command, &Path),
    ) -> Self {
        // Without walls commands see what is in any.
        let directory = visible_directory().unwrap_or_else(|| TempDir::new().unwrap());
        Self::start_in(directory, user, args, fill, change)
    }

    /// The same, with all its files in a directory.
    pub(super) fn start_in(
        directory: TempDir,
        user: User,
        args: &[&str],
        fill: impl FnOnce(&Path, &Path),
        change: impl FnOnce(&mut Command, &Path),
    ) -> Self {
        let root = directory.path().canonicalize().unwrap();
        fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
        let [workspace, home, state] = ["workspace", "home", "state"].map(|name| root.join(name));
        for path in [&workspace, &home, &state] {
            fs::create_dir(path).unwrap();
        }
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
        fill(&workspace, &home);
        if user == User::Ordinary && geteuid().is_root() {
            give(&root);
        }
        let mut agent = Agent::with(|command| {
            command.arg("--state-dir").arg(&state).arg("--workspace").arg(&workspace).args(args);
            at_home(command, &home);
            change(command, &home);
            run_as(command, user);
        });
        agent.state = state;
        Self { agent, workspace, home, directory }
    }

    /// Another agent with the same workspace and home.
    pub(super) fn another(&self, user: User, args: &[&str]) -> Agent {
        self.another_with(user, args, |_| {})
    }

    /// The same, after `change` has had its say about the command.
    pub(super) fn another_with(
        &self,
        user: User,
        args: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Agent {
        let state = TempDir::new_in(self.directory.path()).unwrap().keep();
        if user == User::Ordinary && geteuid().is_root() {
            give(&state);
        }
        let mut agent = Agent::with(|command| {
            command.arg("--state-dir").arg(&state).arg("--workspace").arg(&self.workspace);
            at_home(command.args(args), &self.home);
            change(command);
            run_as(command, user);
        });
        agent.state = state;
        agent
    }

    /// Asserts that each script fails.
    pub(super) async fn refuses(&self, scripts: &[&str]) {
        for script in scripts {
            let run = self.agent.run(&format!("({script}) && echo DONE")).await;
            assert!(!run.output().contains("DONE"), "{script}: {}", run.output());
        }
    }
}

/// Gives a command another home, without the places that variables of the machine name for caches
/// and stores.
fn at_home(command: &mut Command, home: &Path) {
    command.env("HOME", home);
    for name in [
        "BUN_INSTALL_CACHE_DIR",
        "CARGO_HOME",
        "COREPACK_HOME",
        "GOCACHE",
        "GOMODCACHE",
        "npm_config_cache",
        "PNPM_HOME",
        "POETRY_CACHE_DIR",
        "UV_CACHE_DIR",
        "UV_LINK_MODE",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "YARN_GLOBAL_FOLDER",
    ] {
        command.env_remove(name);
    }
}

fn run_as(command: &mut Command, user: User) {
    if user == User::Ordinary && geteuid().is_root() {
        let nobody = NOBODY.to_string();
        run_by(command, &["setpriv", "--reuid", &nobody, "--regid", &nobody, "--clear-groups"]);
    }
}

fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}
