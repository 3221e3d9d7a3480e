use std::{
    env,
    ffi::OsString,
    fmt::Write,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, lchown},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use sandpipe_policy::{
    Program,
    document::parse,
    effective::{Effective, effective},
    files::{InvalidPlaces, Kind, Places, Roots, expand},
    machine::{self, Bubblewrap, is_root},
    walls::{Box, Content, Plan, plan},
};
use tempfile::TempDir;

#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/visible.rs"]
mod visible;

use needs::needs;
use visible::{NO_VISIBLE_DIRECTORY, visible_directory};

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
        let directory = visible_directory().expect(NO_VISIBLE_DIRECTORY);
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
            secrets: Vec::new(),
            policy_file: None,
            stores: None,
            pnpm_store: None,
        }
    }

    pub(crate) fn places(&self, policy: &str) -> Result<(Effective, Places), InvalidPlaces> {
        let policy = effective(&parse(policy).unwrap()).unwrap();
        let places = expand(&policy.files, &self.roots())?;
        Ok((policy, places))
    }

    /// How a program is walled in.
    pub(crate) fn plan(&self, policy: &str, user: User, args: &[&str]) -> Plan {
        let (policy, places) = self.places(policy).unwrap();
        let inside = Box {
            args: args.iter().map(OsString::from).collect(),
            workspace: self.workspace.clone(),
            is_root: is_root() && user == User::Own,
            bubblewrap: bubblewrap().version,
            checks_places: false,
        };
        plan(&policy, &places, &inside, Vec::new()).unwrap()
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
        let plan = self.plan(policy, user, args);
        for placeholder in plan.placeholders.iter().filter(|it| it.kind == Kind::File) {
            fs::write(&placeholder.path, placeholder.content()).unwrap();
            let mode = Permissions::from_mode(placeholder.mode());
            fs::set_permissions(&placeholder.path, mode).unwrap();
        }
        // A shell opens the descriptors that bubblewrap is to inherit.
        let mut redirected = "exec \"$@\"".to_owned();
        let seccomp = self.root().join("seccomp");
        for (index, content) in plan.inherited.iter().enumerate() {
            let from = match content {
                Content::Places(_) | Content::Copy(_) => Path::new("/dev/null"),
                Content::Program => program,
                Content::Seccomp(program) => {
                    fs::write(&seccomp, program).unwrap();
                    seccomp.as_path()
                }
            };
            write!(redirected, " {}<'{}'", 3 + index, from.display()).unwrap();
        }
        let mut command = Command::new("sh");
        command.args(["-c", &redirected, "sh"]);
        if user == User::Nobody {
            command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        command
            .arg(bubblewrap().program.path())
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

/// A path as a shell takes it, whatever is in it but a quote.
pub(crate) fn quoted(path: impl AsRef<Path>) -> String {
    format!("'{}'", path.as_ref().display())
}

/// The program as it was found once: to find it starts processes.
static BUBBLEWRAP: LazyLock<Result<Bubblewrap, String>> = LazyLock::new(|| {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|directory| directory.join("bwrap"));
    let path = found.into_iter().find(|path| path.is_file()).ok_or("there is no bwrap in PATH")?;
    let program = Program::open(&path).map_err(|error| error.to_string())?;
    machine::bubblewrap(&program).map_err(|error| error.to_string())
});

fn bubblewrap() -> &'static Bubblewrap {
    BUBBLEWRAP.as_ref().unwrap()
}

/// Says why a test is skipped, where no walls can be built here.
pub(crate) fn walls() -> bool {
    static MISSING: LazyLock<Option<String>> = LazyLock::new(|| match &*BUBBLEWRAP {
        Err(error) => Some(format!("bubblewrap: {error}")),
        Ok(_) => visible_directory().is_none().then(|| NO_VISIBLE_DIRECTORY.to_owned()),
    });
    needs(MISSING.is_none(), MISSING.as_deref().unwrap_or_default())
}
