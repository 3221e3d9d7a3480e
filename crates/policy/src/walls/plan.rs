use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{Mount, SeccompError, mounts, seccomp_program};
use crate::{
    document::Network,
    effective::Effective,
    files::{Access, Places},
};

/// The port on loopback, inside the box, of the proxy that leads out where hosts are named.
pub const PROXY_PORT: u16 = 57_469;

/// What in `/proc` is settings of the machine.
const SETTINGS_IN_PROC: [&str; 10] =
    ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "driver", "asound"];

/// The program that is walled in: one that starts commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Box {
    /// Its executable, an absolute path.
    pub program: PathBuf,
    /// What it is started with.
    pub args: Vec<OsString>,
    /// Its working directory, without symbolic links.
    pub workspace: PathBuf,
    /// Whether it starts commands of several users, which root alone can.
    pub is_root: bool,
}

/// How the walls are built: what is started in place of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What bubblewrap is started with. It has to be started by a thread that stays, since the kernel ends the box with that
    /// thread (`PR_SET_PDEATHSIG`).
    pub args: Vec<OsString>,
    /// What it has to inherit besides standard streams.
    pub inherited: Vec<Inherited>,
    /// What bubblewrap has to make to mount on, and is to be removed when the box is gone, if it is empty still.
    pub placeholders: Vec<PathBuf>,
}

/// A descriptor that bubblewrap reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Its number.
    pub descriptor: i32,
    /// What can be read from it.
    pub content: Content,
}

/// What can be read from a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Empty,
    /// The program of seccomp.
    Seccomp(Vec<u8>),
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

/// Plans the walls around a box. Descriptors are numbered from `first_descriptor`.
///
/// # Errors
///
/// The workspace is not there for commands, or there is no filter of system calls for this architecture.
pub fn plan(
    policy: &Effective,
    places: &Places,
    inside: &Box,
    first_descriptor: i32,
) -> Result<Plan, PlanError> {
    if places.access(&inside.workspace) < Access::Private {
        return Err(PlanError::NoWorkspace(inside.workspace.clone()));
    }
    let mut plan = Plan { args: Vec::new(), inherited: Vec::new(), placeholders: Vec::new() };
    // In namespaces of users the kernel lets nobody but their root have rights, and root needs none to have some.
    if !inside.is_root {
        plan.push(["--unshare-user"]);
    }
    plan.push(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    if policy.network != Network::Host {
        plan.push(["--unshare-net"]);
    }
    plan.push(["--as-pid-1", "--die-with-parent", "--new-session", "--clearenv"]);
    plan.push(["--cap-drop", "ALL"]);
    if inside.is_root {
        // To start commands of other users and to end them. They themselves get none.
        for capability in ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL"] {
            plan.push(["--cap-add", capability]);
        }
    }
    let mut descriptors = first_descriptor..;
    let mut empty_directories = Vec::new();
    for mount in mounts(places) {
        match &mount {
            Mount::Proc => {
                plan.push(["--proc", "/proc"]);
                // Root owns what is in it. bubblewrap covers it only from those who could make files there.
                for name in SETTINGS_IN_PROC {
                    let path = format!("/proc/{name}");
                    plan.push(["--ro-bind-try", &path, &path]);
                }
            }
            Mount::Dev => plan.push(["--dev", "/dev"]),
            Mount::Read(path) => plan.bind("--ro-bind", path),
            Mount::Write(path) => plan.bind("--bind", path),
            Mount::Device(path) => plan.bind("--dev-bind", path),
            Mount::Private(path) => {
                plan.push(["--perms", "1777", "--tmpfs"]);
                plan.push([path]);
            }
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
            Mount::EmptyFile(path) => {
                let descriptor = descriptors.next().unwrap_or(i32::MAX);
                plan.push(["--ro-bind-data", &descriptor.to_string()]);
                plan.push([path]);
                plan.inherited.push(Inherited { descriptor, content: Content::Empty });
            }
        }
    }
    if places.access(&inside.program) < Access::Read {
        plan.bind("--ro-bind", &inside.program);
    }
    for path in empty_directories {
        plan.push(["--remount-ro"]);
        plan.push([path]);
    }
    if places.deciding(Path::new("/")).is_none() {
        // Of bubblewrap's own making.
        plan.push(["--remount-ro", "/"]);
    }
    plan.placeholders
        .extend(places.iter().filter(|place| !place.exists).map(|place| place.path.clone()));
    let descriptor = descriptors.next().unwrap_or(i32::MAX);
    plan.push(["--seccomp", &descriptor.to_string()]);
    let content = Content::Seccomp(seccomp_program()?);
    plan.inherited.push(Inherited { descriptor, content });
    plan.push(["--chdir".as_ref(), inside.workspace.as_os_str()]);
    plan.push(["--".as_ref(), inside.program.as_os_str()]);
    plan.push(&inside.args);
    Ok(plan)
}

impl Plan {
    fn push<T: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = T>) {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.push([how.as_ref(), path.as_os_str(), path.as_os_str()]);
    }
}
