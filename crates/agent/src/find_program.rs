//! The lookup of a program that the agent starts itself, by its name in `PATH`. npm and npx begin that with directories of the workspace,
//! where a command can put a program of the same name.

use std::{
    env,
    ffi::OsStr,
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use sandpipe_policy::{
    Program,
    files::{Access, Places},
    machine::can_make_in,
};

use crate::owned_path::{OpenWay, check_steps};

/// Places of which no program is taken.
#[derive(Debug)]
pub(crate) struct Untrusted<'a> {
    /// The working directory and the workspace, without symbolic links.
    pub(crate) directories: Vec<PathBuf>,
    /// Places that commands may write under the policy; none where they have the agent's rights anyway.
    pub(crate) places: Option<&'a Places>,
}

/// Reason for which a program is left out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("the entry of PATH is not an absolute path")]
    Relative,
    #[error("it is in a directory node_modules")]
    NodeModules,
    #[error("it is in {}, where commands work", .0.display())]
    WorkingDirectory(PathBuf),
    #[error("the policy lets commands write {}", .0.display())]
    CommandsMayWrite(PathBuf),
    #[error("others could replace it: {0}")]
    OpenWay(OpenWay),
    #[error("it can't be checked: {0}")]
    Unknown(io::Error),
}

/// No program of that name in `PATH` may be started.
#[derive(Debug)]
pub struct NoProgram {
    name: String,
    left_out: Vec<(PathBuf, Reason)>,
}

impl fmt::Display for NoProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        if self.left_out.is_empty() {
            return write!(f, "there is no {name} in PATH");
        }
        write!(f, "every {name} in PATH is left out: ")?;
        for (index, (path, reason)) in self.left_out.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            // Escaped, whatever its name is.
            write!(f, "{separator}{:?} ({reason})", path.to_string_lossy())?;
        }
        Ok(())
    }
}

impl std::error::Error for NoProgram {}

/// Finds the first program of a name in these directories that neither commands nor other users can have put there, and opens it.
///
/// # Errors
/// There is none.
pub(crate) fn find_program(
    name: &str,
    directories: &OsStr,
    untrusted: &Untrusted<'_>,
) -> Result<Program, NoProgram> {
    let mut left_out = Vec::new();
    for directory in env::split_paths(directories) {
        let path = directory.join(name);
        let Ok(program) = Program::open(&path) else {
            continue;
        };
        let is_executable = |found: &fs::Metadata| found.permissions().mode() & 0o111 != 0;
        match program.file().metadata() {
            Ok(found) if found.is_file() && is_executable(&found) => {}
            _ => continue,
        }
        match check(&directory, &program, untrusted) {
            Ok(()) => return Ok(program),
            Err(reason) => left_out.push((path, reason)),
        }
    }
    Err(NoProgram { name: name.to_owned(), left_out })
}

fn check(directory: &Path, program: &Program, untrusted: &Untrusted<'_>) -> Result<(), Reason> {
    if !directory.is_absolute() {
        return Err(Reason::Relative);
    }
    let steps = check_steps(program.path(), program.file()).map_err(Reason::Unknown)?;
    let steps = steps.map_err(Reason::OpenWay)?;
    // Also the way as it is written: a link in it may lead elsewhere tomorrow.
    untrusted.check([program.path()].into_iter().chain(steps.iter().map(PathBuf::as_path)))
}

impl Untrusted<'_> {
    /// Checks the directories and links that lead to a program, and the program.
    fn check<'p>(&self, steps: impl Iterator<Item = &'p Path>) -> Result<(), Reason> {
        for step in steps {
            if step.iter().any(|name| name == "node_modules") {
                return Err(Reason::NodeModules);
            }
            if let Some(directory) =
                self.directories.iter().find(|directory| step.starts_with(directory))
            {
                return Err(Reason::WorkingDirectory(directory.clone()));
            }
            if self.may_write(step) {
                return Err(Reason::CommandsMayWrite(step.to_owned()));
            }
        }
        Ok(())
    }

    /// Returns whether commands can change what is at a path. Where a policy lets them write `/`, none is safe from them.
    fn may_write(&self, path: &Path) -> bool {
        let place = self.places.and_then(|places| places.deciding(path));
        place.is_some_and(|place| {
            place.rule.access == Access::Write && place.path != Path::new("/") && can_make_in(path)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory of its own with some that may be in `PATH`.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(programs: &[&str]) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for program in programs {
                let path = machine.at(program);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, "#!/bin/sh\n").unwrap();
                set_mode(&path, 0o755);
            }
            machine
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        /// Looks for `x` in these directories, from `workspace`; returns what was found, or why nothing was.
        fn find(&self, directories: &[&str]) -> Result<PathBuf, String> {
            let directories = directories.iter().map(|entry| match entry.strip_prefix('=') {
                Some(as_it_is) => as_it_is.into(),
                None => self.at(entry),
            });
            let directories = env::join_paths(directories).unwrap();
            let untrusted = Untrusted { directories: vec![self.at("workspace")], places: None };
            let found = find_program("x", &directories, &untrusted);
            found.map(|found| found.path().to_owned()).map_err(|error| error.to_string())
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn takes_the_first_program_that_only_root_and_the_user_can_have_put_there() {
        let machine = Machine::new(&[
            "workspace/node_modules/.bin/x",
            "workspace/bin/x",
            "tools/node_modules/.bin/x",
            "open/x",
            "bin/x",
            "later/x",
        ]);
        set_mode(&machine.at("open"), 0o777);
        fs::create_dir(machine.at("empty")).unwrap();
        symlink(machine.at("workspace/bin"), machine.at("link")).unwrap();
        let left_out = ["workspace/node_modules/.bin", "workspace/bin", "tools/node_modules/.bin"];
        let all = [&left_out[..], &["link", "open", "=", "=bin", "empty", "bin", "later"]].concat();
        assert_eq!(machine.find(&all), Ok(machine.at("bin/x")));
    }

    #[test]
    fn names_what_it_left_out_and_why() {
        let machine = Machine::new(&[
            "workspace/node_modules/.bin/x",
            "workspace/bin/x",
            "open/x",
            "writable/x",
            "plain/x",
        ]);
        set_mode(&machine.at("open"), 0o777);
        set_mode(&machine.at("writable/x"), 0o757);
        set_mode(&machine.at("plain/x"), 0o644);
        assert_eq!(machine.find(&["plain", "no"]), Err("there is no x in PATH".into()));
        for (directory, reason) in [
            ("workspace/node_modules/.bin", "it is in a directory node_modules"),
            ("workspace/bin", "where commands work"),
            ("open", "others could replace it: they may change"),
            ("writable", "others could replace it: they may change"),
        ] {
            let error = machine.find(&[directory, "plain"]).unwrap_err();
            let path = machine.at(directory).join("x").display().to_string();
            let beginning = format!("every x in PATH is left out: {path:?} (");
            assert!(error.starts_with(&beginning), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn takes_no_relative_entry() {
        let machine = Machine::new(&["bin/x"]);
        // From the directory that tests run in up to `/`, and down.
        let up = env::current_dir().unwrap().iter().skip(1).map(|_| "..").collect::<PathBuf>();
        let relative = up.join(machine.at("bin").strip_prefix("/").unwrap());
        assert!(relative.join("x").exists());
        let untrusted = Untrusted { directories: Vec::new(), places: None };
        let error = find_program("x", relative.as_os_str(), &untrusted).unwrap_err().to_string();
        assert!(error.contains("the entry of PATH is not an absolute path"), "{error}");
    }
}
