//! Process that mounts and listens in a sandbox: commands can't, and the agent, which has threads,
//! can't enter its namespaces (setns(2)).
//!
//! It is this program in a role of its own. It enters once, and then does what it is asked for over its standard input, until the agent
//! closes that. Commands neither see nor reach it: it is in no PID namespace of theirs.

use std::{
    env,
    ffi::OsStr,
    io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use nix::{errno::Errno, libc};
use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2},
    io::Errno as Refusal,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
        OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
        mount_change, move_mount, open_tree, unmount,
    },
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
        sockopt::{Timeout, set_socket_timeout},
    },
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use sandpipe_policy::walls::Guard;
use serde::{Deserialize, Serialize};

use crate::sandbox::{detach, receive_descriptor, send_descriptor};

/// Argument that makes the program this process.
const ROLE: &str = "mount-helper";
/// Name in the list of processes.
const NAME: &std::ffi::CStr = c"sandpipe-mounts";
/// Time that an answer may take: nothing is waited for but the kernel.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest message: a path, and a little.
const MAX_MESSAGE: usize = 8192;

/// Request of the agent.
#[derive(Debug, Serialize, Deserialize)]
enum Request<'a> {
    /// Enters the mount namespace that comes as a descriptor after it.
    Enter,
    /// Listens in the network namespace that comes as a descriptor after it. What it listens with
    /// comes after the outcome.
    Listen(SocketAddr),
    /// Keeps what is mounted on this machine later out of the sandbox.
    MakePrivate,
    /// Keeps commands of root from changing the modes and owners of the machine's devices.
    ProtectDevices,
    /// Hides what is at a path.
    Hide(&'a [u8]),
    /// Makes what is at a path read-only.
    Protect(&'a [u8]),
    /// Keeps a directory from being renamed.
    Pin(&'a [u8]),
    /// Makes a directory of commands' own at a path, with so many bytes at most.
    MakeOwn(&'a [u8], Option<u64>),
    /// Takes away what is mounted at a path.
    Unmount(&'a [u8]),
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Done,
    /// There is nothing that commands could reach.
    Absent,
}

/// Agent's side of the process. That ends when this is dropped.
#[derive(Debug)]
pub(crate) struct MountHelper {
    socket: OwnedFd,
}

impl MountHelper {
    /// Starts one, of the program that also becomes the box.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn start(program: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        let mut command = Command::new(program);
        command.arg0("sandpipe-agent").arg(ROLE).env_clear().current_dir("/");
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        detach(&mut command);
        // It is reaped with all other children.
        drop(command.spawn()?);
        Ok(Self { socket })
    }

    /// Has it enter a mount namespace. All else is done there.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn enter(&self, namespace: BorrowedFd<'_>) -> io::Result<()> {
        self.send(&Request::Enter)?;
        send_descriptor(self.socket.as_fd(), namespace)?;
        self.outcome().map(drop)
    }

    /// Has it listen in a network namespace, also at ports at which commands can't.
    ///
    /// # Errors
    /// It may not, or there is no such address.
    pub(super) fn listen(
        &self,
        namespace: BorrowedFd<'_>,
        address: SocketAddr,
    ) -> io::Result<TcpListener> {
        self.send(&Request::Listen(address))?;
        send_descriptor(self.socket.as_fd(), namespace)?;
        self.outcome()?;
        Ok(receive_descriptor(self.socket.as_fd())?.into())
    }

    /// Has it keep what is mounted on this machine later out of the sandbox.
    ///
    /// # Errors
    /// The kernel refuses that.
    pub(super) fn make_private(&self) -> io::Result<()> {
        self.ask(&Request::MakePrivate).map(drop)
    }

    /// Has it keep commands of root from changing the modes and owners of the machine's devices.
    ///
    /// # Errors
    /// The kernel refuses that.
    pub(super) fn protect_devices(&self) -> io::Result<()> {
        self.ask(&Request::ProtectDevices).map(drop)
    }

    /// Has it mount what holds a rule.
    ///
    /// # Errors
    /// The rule can't be held.
    pub(super) fn mount(&self, path: &Path, guard: Guard) -> io::Result<Outcome> {
        let path = path.as_os_str().as_bytes();
        match guard {
            Guard::Hide => self.ask(&Request::Hide(path)),
            Guard::Protect => self.ask(&Request::Protect(path)),
            Guard::Pin => self.ask(&Request::Pin(path)),
            Guard::Private(size) => self.ask(&Request::MakeOwn(path, size)),
        }
    }

    /// Has it take away what is mounted at a path.
    ///
    /// # Errors
    /// It stays.
    pub(super) fn unmount(&self, path: &Path) -> io::Result<Outcome> {
        self.ask(&Request::Unmount(path.as_os_str().as_bytes()))
    }

    fn ask(&self, request: &Request<'_>) -> io::Result<Outcome> {
        self.send(request)?;
        self.outcome()
    }

    fn send(&self, request: &Request<'_>) -> io::Result<()> {
        let bytes = postcard::to_stdvec(request).map_err(io::Error::other)?;
        send(&self.socket, &bytes, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    fn outcome(&self) -> io::Result<Outcome> {
        let bytes = receive(self.socket.as_fd())?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let outcome: Result<Outcome, i32> =
            postcard::from_bytes(&bytes).map_err(io::Error::other)?;
        outcome.map_err(io::Error::from_raw_os_error)
    }
}

/// Returns whether this process was started as a mount helper.
#[must_use]
pub fn is_mount_helper() -> bool {
    env::args_os().nth(1).is_some_and(|role| role == ROLE)
}

/// Serves the agent until it closes standard input. No other thread may run.
///
/// # Errors
/// It is not one that an agent started.
pub fn run_mount_helper() -> io::Result<()> {
    let _unnamed = nix::sys::prctl::set_name(NAME);
    let socket = rustix::stdio::stdin();
    while let Some(bytes) = receive(socket)? {
        let request: Request = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
        let mut listener = None;
        let outcome = match request {
            Request::Listen(address) => listen(socket, address).map(|listening| {
                listener = Some(listening);
                Outcome::Done
            }),
            request => serve(socket, &request),
        };
        let bytes = postcard::to_stdvec(&outcome.map_err(|errno| errno as i32));
        send(socket, &bytes.map_err(io::Error::other)?, SendFlags::NOSIGNAL)?;
        if let Some(listener) = listener {
            send_descriptor(socket, listener.as_fd())?;
        }
    }
    Ok(())
}

/// Receives a message; none at the end.
fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; MAX_MESSAGE];
    let count = loop {
        match recv(socket, &mut *bytes, RecvFlags::empty()) {
            Err(Refusal::INTR) => {}
            received => break received?.1,
        }
    };
    bytes.truncate(count);
    Ok((count > 0).then_some(bytes))
}

fn serve(socket: BorrowedFd<'_>, request: &Request<'_>) -> Result<Outcome, Errno> {
    let served = match request {
        Request::Enter => {
            let namespace = receive_descriptor(socket).map_err(|_| Errno::EBADF)?;
            enter(namespace.as_fd(), LinkNameSpaceType::Mount)
        }
        // It is answered with more than an outcome.
        Request::Listen(_) => Err(Refusal::INVAL),
        Request::MakePrivate => {
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        }
        Request::ProtectDevices => protect_devices(),
        Request::Hide(path) => {
            with_place(
                path,
                |place| {
                    if is_directory(place)? { empty_directory() } else { no_file() }
                },
            )
        }
        Request::Protect(path) => with_place(path, |place| {
            let tree = copy(place)?;
            set_attributes(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
            Ok(tree)
        }),
        Request::Pin(path) => with_place(path, copy),
        Request::MakeOwn(path, size) => with_place(path, |_| own_directory(*size)),
        Request::Unmount(path) => take_away(path),
    };
    match served {
        Ok(()) => Ok(Outcome::Done),
        Err(Refusal::NOENT | Refusal::NOTDIR | Refusal::ACCESS) => Ok(Outcome::Absent),
        Err(error) => Err(Errno::from_raw(error.raw_os_error())),
    }
}

fn listen(socket: BorrowedFd<'_>, address: SocketAddr) -> Result<TcpListener, Errno> {
    let namespace = receive_descriptor(socket).map_err(|_| Errno::EBADF)?;
    enter(namespace.as_fd(), LinkNameSpaceType::Network)
        .map_err(|error| Errno::from_raw(error.raw_os_error()))?;
    let refusal = |error: io::Error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
    TcpListener::bind(address).map_err(refusal)
}

/// Enters a namespace by the user namespace that it belongs to.
fn enter(namespace: BorrowedFd<'_>, kind: LinkNameSpaceType) -> Result<(), Refusal> {
    let owner = owner(namespace)?;
    match move_into_link_name_space(owner.as_fd(), Some(LinkNameSpaceType::User)) {
        // That of root is the agent's own, and this process may be in it by now.
        Ok(()) | Err(Refusal::INVAL) => {}
        Err(error) => return Err(error),
    }
    move_into_link_name_space(namespace, Some(kind))
}

/// Opens the user namespace that a namespace belongs to (`ioctl_nsfs(2)`).
fn owner(namespace: BorrowedFd<'_>) -> Result<OwnedFd, Refusal> {
    const NS_GET_USERNS: libc::c_ulong = 0xb701;
    // SAFETY: it touches no memory, and returns a descriptor that nothing else has.
    #[allow(unsafe_code)]
    unsafe {
        let owner = libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS as _);
        if owner < 0 { Err(last_error()) } else { Ok(OwnedFd::from_raw_fd(owner)) }
    }
}

/// Mounts on what is at a path. It is looked up once: another in its place gets no mount that was made for this one.
fn with_place(
    path: &[u8],
    make: impl FnOnce(&OwnedFd) -> Result<OwnedFd, Refusal>,
) -> Result<(), Refusal> {
    let place = open(Path::new(OsStr::from_bytes(path)))?;
    let tree = make(&place)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, "", &place, "", flags)
}

/// Opens a path that no symbolic link leads to.
fn open(path: &Path) -> Result<OwnedFd, Refusal> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn is_directory(place: &OwnedFd) -> Result<bool, Refusal> {
    Ok(FileType::from_raw_mode(fstat(place)?.st_mode) == FileType::Directory)
}

/// Makes a mount of the same place, with what is mounted in it.
fn copy(place: &OwnedFd) -> Result<OwnedFd, Refusal> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(place, "", flags)
}

/// Makes a mount of an empty directory that can't be written.
fn empty_directory() -> Result<OwnedFd, Refusal> {
    let system = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&system)?;
    fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, ALL_TAKEN)
}

/// Makes a mount of an empty directory in memory that all may write, as bubblewrap does.
fn own_directory(size: Option<u64>) -> Result<OwnedFd, Refusal> {
    let system = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&system, "mode", "1777")?;
    if let Some(size) = size {
        fsconfig_set_string(&system, "size", size.to_string())?;
    }
    fsconfig_create(&system)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    fsmount(&system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Makes a mount of a file that can't be opened: a device where devices can't be (EACCES).
fn no_file() -> Result<OwnedFd, Refusal> {
    let tree = copy(&open(Path::new("/dev/null"))?)?;
    set_attributes(&tree, ALL_TAKEN)?;
    Ok(tree)
}

const ALL_TAKEN: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_RDONLY
    .union(MountAttrFlags::MOUNT_ATTR_NODEV)
    .union(MountAttrFlags::MOUNT_ATTR_NOSUID)
    .union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// Adds attributes to a mount, and to those in it (`mount_setattr(2)`).
fn set_attributes(tree: &OwnedFd, attributes: MountAttrFlags) -> Result<(), Refusal> {
    // What to set, what to clear, the propagation, and a user namespace.
    let attributes = [u64::from(attributes.bits()), 0, 0, 0];
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: path and attributes are there while it is called, and the size is theirs.
    #[allow(unsafe_code)]
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    if set < 0 { Err(last_error()) } else { Ok(()) }
}

/// Makes the mounts of devices read-only, which says nothing of what is written to the devices (`mount_setattr(2)`).
fn protect_devices() -> Result<(), Refusal> {
    let directory = openat(CWD, "/dev", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let device = openat(&directory, entry.file_name(), flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&device)?.st_mode) == FileType::CharacterDevice {
            match set_attributes(&device, MountAttrFlags::MOUNT_ATTR_RDONLY) {
                // Nothing is mounted there: it is the sandbox's own.
                Ok(()) | Err(Refusal::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Takes away what is mounted at a path, with what is mounted in it.
fn take_away(path: &[u8]) -> Result<(), Refusal> {
    let path = Path::new(OsStr::from_bytes(path));
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Refusal::INVAL);
    };
    rustix::process::fchdir(open(parent)?)?;
    let outcome = unmount(name, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
    rustix::process::chdir("/")?;
    outcome
}

/// Returns whether the system has what [`set_attributes`] needs (Linux 5.12), and lets it be called:
/// without a size it does nothing.
pub(super) fn can_mount_late() -> bool {
    // SAFETY: the path is there while it is called, and of the attributes nothing is read.
    #[allow(unsafe_code)]
    let set = unsafe {
        libc::syscall(libc::SYS_mount_setattr, -1, c"".as_ptr(), 0, std::ptr::null::<u64>(), 0)
    };
    set < 0 && Errno::last() == Errno::EINVAL
}

fn last_error() -> Refusal {
    Refusal::from_raw_os_error(Errno::last() as i32)
}
