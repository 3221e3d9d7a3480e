use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{LateMounts, Mount, MountCheck, Refused, SeccompError, mounts, seccomp_program};
use crate::{
    document::{Network, Size},
    effective::{Effective, Preset},
    files::{Access, Placeholder, Places},
    machine::Version,
};

/// The port on loopback, inside the box, of the proxy that leads out where hosts are named.
pub const PROXY_PORT: u16 = 57_469;

/// What in `/proc` is settings of the machine.
const SETTINGS_IN_PROC: [&str; 10] =
    ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "driver", "asound"];

/// The program that is walled in: one that starts commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Box {
    /// What it is started with.
    pub args: Vec<OsString>,
    /// Its working directory, without symbolic links.
    pub workspace: PathBuf,
    /// Whether it starts commands of several users, which root alone can.
    pub is_root: bool,
    /// The bubblewrap that builds the walls.
    pub bubblewrap: Version,
    /// Whether it looks, before it starts a command, that what is mounted is what was there when the walls were planned: it is told by
    /// [`PLACES`].
    pub checks_places: bool,
}

/// What a box is told by from which descriptor it reads the [`Content::Places`].
pub const PLACES: &str = "--places=";

/// The most late mounts that bubblewrap makes. For each it reads the list of all mounts, so that its
/// time grows with the square of their number.
const MAX_LATE: usize = 50;
/// Number of words of a mount in the command line.
const WORDS: usize = 3;

/// The first that has `--size`.
const LIMITS_DIRECTORIES: Version = Version(0, 7, 0);

/// How the walls are built: what is started in place of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    args: Vec<Arg>,
    /// The descriptors that bubblewrap has to inherit besides standard streams.
    pub inherited: Vec<Content>,
    /// What has to be there to be mounted on.
    pub placeholders: Vec<Placeholder>,
    /// Mounts that have to stay while the sandbox runs.
    pub check: MountCheck,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Arg {
    Text(OsString),
    /// The text of a mount that can be made once the sandbox has started.
    Late(OsString),
    /// The number of the descriptor with this index.
    Descriptor(usize),
    /// The same behind a text.
    Named(&'static str, usize),
}

/// What can be read from a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The program of seccomp.
    Seccomp(Vec<u8>),
    /// What is at these places, without following symbolic links.
    Places(Vec<PathBuf>),
    /// Content of a [`Replacement::File`].
    Copy(Vec<u8>),
    /// The executable of the [`Box`].
    Program,
}

/// Replacement for something of this machine in a sandbox, at a path without symbolic links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// A file with this content, where they may read the one that is there, and not write it.
    File(PathBuf, Vec<u8>),
    /// Another directory of this machine, which stays when the sandbox ends, where they would have
    /// a private one.
    Directory(PathBuf, PathBuf),
}

/// Why no walls can be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Commands could not even begin where they are to run.
    #[error("the policy gives commands nothing of the workspace {}: name it, or a directory above it, in files.read or files.write", .0.display())]
    NoWorkspace(PathBuf),
    /// There is no filter of system calls.
    #[error(transparent)]
    Seccomp(#[from] SeccompError),
}

/// Plans the walls around a box.
///
/// # Errors
///
/// The workspace is not there for commands, or there is no filter of system calls for this architecture.
pub fn plan(
    policy: &Effective,
    places: &Places,
    inside: &Box,
    replacements: Vec<Replacement>,
) -> Result<Plan, PlanError> {
    if places.access(&inside.workspace) < Access::Private {
        return Err(PlanError::NoWorkspace(inside.workspace.clone()));
    }
    // With an older one that is the control group's to limit.
    let size = policy.limits.memory.filter(|_| inside.bubblewrap >= LIMITS_DIRECTORIES);
    let mut check = MountCheck::new(places, &inside.workspace, size.map(Size::bytes));
    if !policy.presets.contains(&Preset::Open) {
        check = check.without_sockets();
    }
    let mut plan = Plan { check, ..Plan::default() };
    // In namespaces of users the kernel lets nobody but their root have rights, and root needs none to have some.
    if !inside.is_root {
        plan.push(["--unshare-user"]);
    }
    // Not that of cgroups: where those are delegated the kernel lets nobody in one start a process in another that can't be seen from it
    // (cgroups(7), `nsdelegate`).
    plan.push(["--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
    if policy.network != Network::Host {
        plan.push(["--unshare-net"]);
    }
    plan.push(["--as-pid-1", "--die-with-parent", "--new-session", "--clearenv"]);
    plan.push(["--cap-drop", "ALL"]);
    if inside.is_root {
        // To start commands of other users in directories and with terminals of theirs, and to find (proc(5), /proc/pid/environ) and end
        // what they have started. They themselves get none.
        for capability in [
            "CAP_SETUID",
            "CAP_SETGID",
            "CAP_CHOWN",
            "CAP_DAC_READ_SEARCH",
            "CAP_SYS_PTRACE",
            "CAP_KILL",
            // To have commands never get one. It gives that up itself.
            "CAP_SETPCAP",
        ] {
            plan.push(["--cap-add", capability]);
        }
    }
    let mut empty_directories = Vec::new();
    let mut bound = Vec::new();
    let late = LateMounts::new(places);
    for mount in mounts(places) {
        bound.extend(mount.bound().map(Path::to_owned));
        match &mount {
            Mount::Proc => {
                plan.push(["--proc", "/proc"]);
                // Root owns what is in it. bubblewrap covers it only from those who could make files there.
                for name in SETTINGS_IN_PROC {
                    let path = format!("/proc/{name}");
                    plan.push(["--ro-bind-try", &path, &path]);
                }
            }
            Mount::Dev => {
                plan.push(["--dev", "/dev"]);
                plan.private(Path::new("/dev/shm"), size);
            }
            Mount::Read(path) if late.has(path) => plan.bind_late("--ro-bind", path),
            Mount::Write(path) if late.has(path) => plan.bind_late("--bind", path),
            Mount::Read(path) => plan.bind("--ro-bind", path),
            Mount::Write(path) => plan.bind("--bind", path),
            Mount::Device(path) => plan.bind("--dev-bind", path),
            Mount::Private(path) => match kept(path, &replacements) {
                Some(source) => {
                    plan.push(["--bind".as_ref(), source.as_os_str(), path.as_os_str()]);
                }
                None => plan.private(path, size),
            },
            Mount::EmptyDirectory(path) => {
                plan.push(["--tmpfs"]);
                plan.push([path]);
                empty_directories.push(path.clone());
            }
            Mount::NoFile(path) => {
                // A device on a mount without devices: open(2) gives EACCES.
                plan.push(["--ro-bind", "/dev/null"]);
                plan.push([path]);
            }
        }
    }
    plan.copy(replacements, places);
    // /dev, too, is a directory in memory, which nothing would limit.
    for path in empty_directories.iter().map(PathBuf::as_path).chain([Path::new("/dev")]) {
        plan.push(["--remount-ro"]);
        plan.push([path]);
    }
    if places.deciding(Path::new("/")).is_none() {
        // Of bubblewrap's own making.
        plan.push(["--remount-ro", "/"]);
    }
    let missing = places.iter().filter(|place| !place.exists);
    plan.placeholders
        .extend(missing.map(|place| Placeholder { path: place.path.clone(), kind: place.kind }));
    plan.push(["--seccomp"]);
    let refused = Refused { unix_sockets: !policy.unix_sockets, set_group_id: inside.is_root };
    plan.inherit(Content::Seccomp(seccomp_program(refused)?));
    plan.push(["--chdir".as_ref(), inside.workspace.as_os_str()]);
    plan.push(["--"]);
    // By no path: a command may have put another program there.
    plan.args.push(Arg::Named("/proc/self/fd/", plan.inherited.len()));
    plan.inherited.push(Content::Program);
    plan.push(&inside.args);
    if inside.checks_places {
        plan.args.push(Arg::Named(PLACES, plan.inherited.len()));
        plan.inherited.push(Content::Places(bound));
    }
    Ok(plan)
}

/// Finds the directory that commands have in place of a private one.
fn kept<'a>(private: &Path, replacements: &'a [Replacement]) -> Option<&'a Path> {
    replacements.iter().find_map(|replacement| match replacement {
        Replacement::Directory(path, source) if path == private => Some(source.as_path()),
        Replacement::File(..) | Replacement::Directory(..) => None,
    })
}

impl Plan {
    /// What bubblewrap is started with, where the descriptors that it inherits have these numbers. It has to be started by a thread that
    /// stays, since the kernel ends the box with that thread (`PR_SET_PDEATHSIG`).
    pub fn args(&self, descriptor: impl Fn(usize) -> i32) -> Vec<OsString> {
        let text = |arg: &Arg| match arg {
            Arg::Text(text) | Arg::Late(text) => text.clone(),
            Arg::Descriptor(index) => descriptor(*index).to_string().into(),
            Arg::Named(name, index) => format!("{name}{}", descriptor(*index)).into(),
        };
        self.args.iter().map(text).collect()
    }

    /// Leaves the mounts of repositories and tool settings out of the command line, if there are
    /// many: they are part of [`Plan::check`], and have to be mounted before the first command.
    pub fn leave_late_mounts(&mut self) {
        let is_late = |arg: &Arg| matches!(arg, Arg::Late(_));
        if self.args.iter().filter(|arg| is_late(arg)).count() > MAX_LATE * WORDS {
            self.args.retain(|arg| !is_late(arg));
        }
    }

    fn push<T: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = T>) {
        self.args.extend(args.into_iter().map(|arg| Arg::Text(arg.as_ref().to_owned())));
    }

    fn inherit(&mut self, content: Content) {
        self.args.push(Arg::Descriptor(self.inherited.len()));
        self.inherited.push(content);
    }

    /// Puts files in place of those that commands may only read.
    fn copy(&mut self, replacements: Vec<Replacement>, places: &Places) {
        for replacement in replacements {
            if let Replacement::File(path, content) = replacement
                && places.access(&path) == Access::Read
            {
                // The user's own in the sandbox, where root's files seem to be nobody's.
                self.push(["--perms", "0444", "--ro-bind-data"]);
                self.inherit(Content::Copy(content));
                self.push([path]);
            }
        }
    }

    /// A directory in memory, with no more than that.
    fn private(&mut self, path: &Path, size: Option<Size>) {
        if let Some(size) = size {
            self.push(["--size", &size.bytes().to_string()]);
        }
        self.push(["--perms", "1777", "--tmpfs"]);
        self.push([path]);
    }

    fn bind_late(&mut self, how: &str, path: &Path) {
        let words: [&OsStr; WORDS] = [how.as_ref(), path.as_os_str(), path.as_os_str()];
        self.args.extend(words.map(|word| Arg::Late(word.to_owned())));
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.push([how.as_ref(), path.as_os_str(), path.as_os_str()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        files::{FileRule, IfMissing, Kind, Origin, Place},
        walls::Guard,
    };

    /// Returns how often the command line names a repository, of so many, and how many are guarded.
    fn mounted(count: usize) -> (usize, usize) {
        let place = |path: String, access, origin| {
            let path_of_rule = path.parse().unwrap();
            let if_missing = IfMissing::Skip;
            let rule = FileRule { access, path: path_of_rule, origin, if_missing };
            Place { path: path.into(), kind: Kind::Directory, exists: true, rule }
        };
        let workspace = place("/w".into(), Access::Write, Origin::Policy);
        let git = Origin::Preset(Preset::Git);
        let repositories = (0..count).map(|i| place(format!("/w/r{i}/.git"), Access::Read, git));
        let places = repositories.fold(Places::default().with(workspace), Places::with);
        let inside = Box {
            args: Vec::new(),
            workspace: "/w".into(),
            is_root: false,
            bubblewrap: LIMITS_DIRECTORIES,
            checks_places: true,
        };
        let mut plan =
            plan(&Effective::of(Preset::Workspace), &places, &inside, Vec::new()).unwrap();
        plan.leave_late_mounts();
        let args = plan.args(|_| 0);
        let named = args.windows(2).filter(|words| {
            words.first().is_some_and(|word| word == "--ro-bind")
                && words.last().is_some_and(|word| Path::new(word).ends_with(".git"))
        });
        let is_protected = |guarded: &&crate::walls::Guarded| guarded.guard == Guard::Protect;
        (named.count(), plan.check.guarded().filter(is_protected).count())
    }

    #[test]
    fn bubblewrap_mounts_few_repositories_and_none_of_many() {
        assert_eq!(mounted(MAX_LATE / 2), (MAX_LATE / 2, MAX_LATE / 2));
        assert_eq!(mounted(MAX_LATE), (0, MAX_LATE));
    }
}
