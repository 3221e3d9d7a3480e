//! Files of the Unix sockets that programs of this machine listen on, wherever they are by now.
//!
//! The kernel lists sockets by the path that each was bound to, and by the number of its file. At that path there need not be one: it may be
//! relative, and a file may have been renamed or linked since, as `ssh` does with the socket of a shared connection. So the directory is
//! searched for that number, unless the file at the path has it and has no other name.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
    sockopt::{Timeout, set_socket_timeout},
};
use sandpipe_policy::walls::{
    BoundSocket, MountCheck, answered_sockets, listed_sockets, request_sockets,
};

use crate::{ports::socket_inode, sandbox::all_processes};

/// Time that the kernel may take for a part of its list.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Size of the largest part, in bytes (`netlink_recvmsg` of `net/netlink/af_netlink.c`).
const PART: usize = 32 * 1024;
/// Age from which on the time of a directory tells of every later change: clocks of file systems are coarse.
const SETTLED: Duration = Duration::from_secs(1);

/// Files of sockets, as they were found when they were looked for last.
#[derive(Debug)]
pub(super) struct SocketFiles {
    /// Rules of the policy for a place.
    check: MountCheck,
    known: BTreeMap<BoundSocket, Found>,
    paths: BTreeSet<PathBuf>,
}

/// Files of one socket.
#[derive(Debug, Default)]
struct Found {
    paths: BTreeSet<PathBuf>,
    /// Number of names that the file has; none where it was not found.
    links: Option<u64>,
    /// Directories that were searched, with the times of their last changes.
    searched: Vec<(PathBuf, Option<SystemTime>)>,
}

/// One look for files.
struct Search<'a> {
    check: &'a MountCheck,
    sockets: &'a [BoundSocket],
    /// Working directories of the processes that have a socket with a relative path.
    holders: OnceCell<HashMap<u64, BTreeSet<PathBuf>>>,
    /// Sockets in directories: the number of each file, and its path.
    listed: HashMap<PathBuf, Vec<(u64, PathBuf)>>,
}

impl SocketFiles {
    pub(super) fn new(check: MountCheck) -> Self {
        Self { check, known: BTreeMap::new(), paths: BTreeSet::new() }
    }

    /// Returns the files, without symbolic links in their paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.paths.iter().cloned()
    }

    /// Finds the files; returns whether there are others than before. It searches only for those that are new, or not where they were.
    pub(super) fn find(&mut self) -> bool {
        if !self.check.hides_sockets() {
            return false;
        }
        // The agent's network is the machine's.
        let sockets = ask_kernel().unwrap_or_else(|error| {
            tracing::debug!(%error, "the kernel lists no sockets with the numbers of their files");
            let table = fs::read("/proc/net/unix").unwrap_or_default();
            listed_sockets(&table).into_iter().collect()
        });
        let (holders, listed) = (OnceCell::new(), HashMap::new());
        let mut search = Search { check: &self.check, sockets: &sockets, holders, listed };
        let mut known = std::mem::take(&mut self.known);
        for socket in &sockets {
            let found = known.remove(socket).filter(|found| found.holds(socket));
            let found = found.unwrap_or_else(|| search.find(socket));
            self.known.insert(socket.clone(), found);
        }
        let paths = self.known.values().flat_map(|found| &found.paths).cloned().collect();
        let is_other = self.paths != paths;
        self.paths = paths;
        is_other
    }
}

impl Found {
    /// Returns whether a search would find the same.
    fn holds(&self, socket: &BoundSocket) -> bool {
        let is_there = |path: &PathBuf| {
            let is_same =
                |links, file: &fs::Metadata| links == file.nlink() && socket.is(file.ino());
            socket_at(path).is_some_and(|file| self.links.is_none_or(|links| is_same(links, &file)))
        };
        let is_unchanged = |(directory, changed): &(PathBuf, Option<SystemTime>)| {
            changed.is_some() && settled(directory) == *changed
        };
        let is_complete = self.links == u64::try_from(self.paths.len()).ok();
        self.paths.iter().all(is_there) && (is_complete || self.searched.iter().all(is_unchanged))
    }

    fn add(&mut self, path: PathBuf, links: u64) {
        self.paths.insert(path);
        self.links = Some(links);
    }
}

impl Search<'_> {
    fn find(&mut self, socket: &BoundSocket) -> Found {
        let mut found = Found::default();
        let Some(name) = socket.name.file_name() else { return found };
        for directory in self.directories(socket) {
            // Those of other mount namespaces are not there.
            let Ok(directory) = directory.canonicalize() else { continue };
            if !self.check.hides_sockets_in(&directory) {
                continue;
            }
            let path = directory.join(name);
            if let Some(file) = socket_at(&path) {
                // It is hidden also where it is another one: some file systems number files in two ways.
                found.paths.insert(path);
                if socket.is(file.ino()) {
                    found.links = Some(file.nlink());
                    if file.nlink() == 1 {
                        break;
                    }
                }
            }
            found.searched.push((directory.clone(), settled(&directory)));
            let listed =
                self.listed.entry(directory).or_insert_with_key(|directory| list(directory));
            for (_, path) in listed.iter().filter(|(number, _)| socket.is(*number)) {
                if let Some(file) = socket_at(path) {
                    found.add(path.clone(), file.nlink());
                }
            }
        }
        let missing = found.links.filter(|links| *links > found.paths.len() as u64);
        if let Some(links) = missing {
            tracing::warn!(
                name = ?socket.name, links, found = found.paths.len(),
                "a Unix socket has names that were not found: commands can reach it by them"
            );
        }
        found
    }

    /// Lists the directories in which the file of a socket may be.
    fn directories(&self, socket: &BoundSocket) -> Vec<PathBuf> {
        let Some(directory) = socket.name.parent() else { return Vec::new() };
        if directory.is_absolute() {
            return vec![directory.to_owned()];
        }
        let holders = self.holders.get_or_init(|| working_directories(self.sockets));
        let holders = holders.get(&socket.number).into_iter().flatten();
        holders.map(|holder| holder.join(directory)).collect()
    }
}

/// Returns what is at a path if it is a socket.
fn socket_at(path: &Path) -> Option<fs::Metadata> {
    path.symlink_metadata().ok().filter(|found| found.file_type().is_socket())
}

/// Lists the sockets in a directory, with the numbers of their files.
fn list(directory: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sockets = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
    sockets.filter_map(|entry| Some((socket_at(&entry.path())?.ino(), entry.path()))).collect()
}

/// Returns when a directory was changed last, if that is so long ago that a later change has another time.
fn settled(directory: &Path) -> Option<SystemTime> {
    let changed = fs::metadata(directory).ok()?.modified().ok()?;
    let age = SystemTime::now().duration_since(changed).ok()?;
    (age > SETTLED).then_some(changed)
}

/// Looks for the working directories of the processes that have a socket with a relative path.
fn working_directories(sockets: &[BoundSocket]) -> HashMap<u64, BTreeSet<PathBuf>> {
    let relative = sockets.iter().filter(|socket| socket.name.is_relative());
    let mut found: HashMap<u64, BTreeSet<PathBuf>> =
        relative.map(|socket| (socket.number, BTreeSet::new())).collect();
    for process in all_processes() {
        let process = PathBuf::from(format!("/proc/{}", process.pid));
        let entries = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| socket_inode(&fs::read_link(entry.path()).ok()?));
        for number in numbers {
            let directories = found.get_mut(&number);
            if let (Some(directories), Ok(cwd)) = (directories, fs::read_link(process.join("cwd")))
            {
                directories.insert(cwd);
            }
        }
    }
    found
}

/// Asks the kernel which sockets there are (`sock_diag(7)`).
fn ask_kernel() -> io::Result<Vec<BoundSocket>> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::SOCK_DIAG);
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    set_socket_timeout(&kernel, Timeout::Recv, Some(TIMEOUT))?;
    send(&kernel, &request_sockets(), SendFlags::empty())?;
    let mut sockets = Vec::new();
    let mut part = vec![0; PART];
    loop {
        let (_, length) = recv(&kernel, &mut *part, RecvFlags::empty())?;
        let answer = part.get(..length).and_then(answered_sockets);
        let (more, is_last) = answer.ok_or(io::ErrorKind::Unsupported)?;
        sockets.extend(more);
        if is_last {
            return Ok(sockets);
        }
    }
}
