//! Commands under a policy. Where no walls can be built these tests say so.

mod attempts;
mod evasion;
mod exchanged;
mod exhaustion;
mod limits;
mod narrower;
mod network;
mod other_users;
mod placeholders;
mod policy_command;
mod policy_file;
mod refused;
mod replaced_program;
mod running;

use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::support::{Agent, run_by};

/// Whether walls can be built here.
pub(super) fn walls() -> bool {
    let tried = Command::new("bwrap")
        .args(["--unshare-user", "--ro-bind", "/", "/", "--unshare-pid", "true"])
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        let _told = writeln!(std::io::stdout(), "skipped: bubblewrap builds no walls here");
    }
    can
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
        Self::start_in(&std::env::temp_dir(), user, args, fill, change)
    }

    /// The same, with all its files in a directory.
    pub(super) fn start_in(
        parent: &Path,
        user: User,
        args: &[&str],
        fill: impl FnOnce(&Path, &Path),
        change: impl FnOnce(&mut Command, &Path),
    ) -> Self {
        let directory = TempDir::new_in(parent).unwrap();
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
            command.env("HOME", &home);
            change(command, &home);
            run_as(command, user);
        });
        agent.state = state;
        Self { agent, workspace, home, directory }
    }

    /// Another agent with the same workspace and home.
    pub(super) fn another(&self, user: User, args: &[&str]) -> Agent {
        let state = TempDir::new_in(self.directory.path()).unwrap().keep();
        if user == User::Ordinary && geteuid().is_root() {
            give(&state);
        }
        Agent::with(|command| {
            command.arg("--state-dir").arg(state).arg("--workspace").arg(&self.workspace);
            command.args(args).env("HOME", &self.home);
            run_as(command, user);
        })
    }

    /// Asserts that each script fails.
    pub(super) async fn refuses(&self, scripts: &[&str]) {
        for script in scripts {
            let run = self.agent.run(&format!("({script}) && echo DONE")).await;
            assert!(!run.output().contains("DONE"), "{script}: {}", run.output());
        }
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
