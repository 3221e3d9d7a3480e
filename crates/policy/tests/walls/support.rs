use std::{
    ffi::OsString,
    fmt::Write,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, lchown},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use sandpipe_policy::{
    document::parse,
    effective::{Effective, effective},
    files::{InvalidPlaces, Places, Roots, expand},
    machine::{self, is_root},
    walls::{Box, Content, Plan, plan},
};
use tempfile::TempDir;

/// Some user that is not root.
const NOBODY: u32 = 65_534;

/// A workspace and a home in a directory of their own, and what commands do there behind walls.
pub(crate) struct Place {
    directory: TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) home: PathBuf,
}

/// What a script behind walls gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

/// Who commands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Own,
    Nobody,
}

/// The user of the tests, and where that is root somebody who is not.
pub(crate) fn users() -> &'static [User] {
    if is_root() { &[User::Own, User::Nobody] } else { &[User::Own] }
}

impl Place {
    pub(crate) fn new() -> Self {
        // What is in /tmp and in /var/tmp is not there behind walls. This one every user can get at.
        let base = if is_root() { "/var/lib" } else { env!("CARGO_TARGET_TMPDIR") };
        let directory = tempfile::tempdir_in(base).unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [workspace, home] = ["workspace", "home"].map(|name| root.join(name));
        let place = Self { directory, workspace, home };
        place.write("workspace/", "");
        place.write("home/", "");
        place
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// Writes a file, or with `/` at the end makes a directory.
    pub(crate) fn write(&self, path: &str, content: &str) -> PathBuf {
        let whole = self.root().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(&whole).unwrap();
        } else {
            fs::create_dir_all(whole.parent().unwrap()).unwrap();
            fs::write(&whole, content).unwrap();
        }
        whole
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    fn roots(&self) -> Roots {
        Roots {
            workspace: self.workspace.clone(),
            homes: vec![self.home.clone()],
            protected: vec![self.root().join("state")],
            homes_of_others: Vec::new(),
            policy_file: None,
        }
    }

    pub(crate) fn places(&self, policy: &str) -> Result<(Effective, Places), InvalidPlaces> {
        let policy = effective(&parse(policy).unwrap()).unwrap();
        let places = expand(&policy.files, &self.roots())?;
        Ok((policy, places))
    }

    /// How a program is walled in.
    pub(crate) fn plan(&self, policy: &str, user: User, program: &Path, args: &[&str]) -> Plan {
        let (policy, places) = self.places(policy).unwrap();
        let inside = Box {
            program: Some(program.to_owned()),
            args: args.iter().map(OsString::from).collect(),
            workspace: self.workspace.clone(),
            is_root: is_root() && user == User::Own,
            bubblewrap: machine::bubblewrap().unwrap().version,
            checks_places: false,
        };
        plan(&policy, &places, &inside).unwrap()
    }

    /// Runs a script behind walls.
    pub(crate) fn run(&self, policy: &str, user: User, script: &str) -> Outcome {
        self.run_program(policy, user, Path::new("/bin/sh"), &["-c", script])
    }

    pub(crate) fn run_program(
        &self,
        policy: &str,
        user: User,
        program: &Path,
        args: &[&str],
    ) -> Outcome {
        if is_root() {
            give(&self.root(), if user == User::Nobody { NOBODY } else { 0 });
        }
        let plan = self.plan(policy, user, program, args);
        let bubblewrap = machine::bubblewrap().unwrap();
        // A shell opens the descriptors that bubblewrap is to inherit.
        let mut redirected = "exec \"$@\"".to_owned();
        let seccomp = self.root().join("seccomp");
        for (index, content) in plan.inherited.iter().enumerate() {
            let from = match content {
                Content::Empty | Content::Places(_) | Content::Program => Path::new("/dev/null"),
                Content::Seccomp(program) => {
                    fs::write(&seccomp, program).unwrap();
                    seccomp.as_path()
                }
            };
            write!(redirected, " {}<{}", 3 + index, from.display()).unwrap();
        }
        let mut command = Command::new("sh");
        command.args(["-c", &redirected, "sh"]);
        if user == User::Nobody {
            command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command
            .arg(&bubblewrap.path)
            .args(plan.args(|index| 3 + i32::try_from(index).unwrap()))
            .stdin(Stdio::null());
        command.env("SECRET_OF_THE_AGENT", "token");
        let Output { status, stdout, stderr } = command.output().unwrap();
        for placeholder in plan.placeholders {
            let path = placeholder.path;
            let _removed = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
        }
        let text =
            [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        Outcome { code: status.code(), text }
    }

    /// Asserts that each script fails behind walls, for every user.
    pub(crate) fn refuses(&self, policy: &str, scripts: &[&str]) {
        for user in users() {
            for script in scripts {
                let outcome = self.run(policy, *user, &format!("{script} && echo DONE"));
                let text = &outcome.text;
                assert!(!text.contains("DONE"), "{user:?} {policy}: {script}: {text}");
                assert!(!text.contains("bwrap:"), "{user:?} {policy}: {script}: {text}");
            }
        }
    }

    /// Asserts that each script succeeds behind walls, for every user.
    pub(crate) fn allows(&self, policy: &str, scripts: &[&str]) {
        for user in users() {
            for script in scripts {
                let outcome = self.run(policy, *user, script);
                assert_eq!(outcome.code, Some(0), "{user:?} {policy}: {script}: {}", outcome.text);
            }
        }
    }
}

fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// Says why a test is skipped, where no walls can be built here.
pub(crate) fn walls() -> bool {
    match machine::bubblewrap() {
        Ok(_) => true,
        Err(error) => {
            let _told = std::io::Write::write_fmt(
                &mut std::io::stdout(),
                format_args!("skipped: {error}\n"),
            );
            false
        }
    }
}
