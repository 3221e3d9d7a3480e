use std::{
    collections::HashMap,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::sandbox::{Process, all_processes, process};

/// The process that has a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) pid: i32,
    /// When it was started: with its id that stands for it alone.
    pub(crate) started: u64,
    /// The name of its program.
    pub(crate) command: String,
}

/// The owners of sockets, as they were found when it was looked last.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    /// By the socket's number; none where nobody was found.
    known: HashMap<u64, Option<Found>>,
}

#[derive(Debug)]
struct Found {
    owner: Owner,
    /// One of its descriptors.
    descriptor: PathBuf,
}

impl Owners {
    /// Finds the owners of these sockets, as far as this process may look: all processes are only looked at where there is a socket that is new,
    /// or that its owner does not have any more.
    pub(crate) fn find(&mut self, sockets: &[u64]) -> Vec<Option<Owner>> {
        self.known.retain(|socket, found| {
            sockets.contains(socket) && found.as_ref().is_none_or(|found| found.has(*socket))
        });
        let is_new = |socket: &u64| !self.known.contains_key(socket);
        let new: Vec<u64> = sockets.iter().copied().filter(is_new).collect();
        if !new.is_empty() {
            let mut found = search(&new);
            self.known.extend(new.into_iter().map(|socket| (socket, found.remove(&socket))));
        }
        let owner = |socket: &u64| Some(self.known.get(socket)?.as_ref()?.owner.clone());
        sockets.iter().map(owner).collect()
    }
}

impl Found {
    /// Whether it still is the process that has it.
    fn has(&self, socket: u64) -> bool {
        let link = fs::read_link(&self.descriptor);
        link.is_ok_and(|link| socket_inode(&link) == Some(socket))
            && process(Pid::from_raw(self.owner.pid))
                .is_some_and(|process| process.started == self.owner.started)
    }
}

/// Looks for the processes that have these sockets: of several the oldest, which has handed it on.
fn search(sockets: &[u64]) -> HashMap<u64, Found> {
    let mut processes = all_processes();
    processes.sort_by_key(|process| (process.started, process.pid));
    let mut found = HashMap::new();
    for process in processes {
        // Those that this one may not look into have none.
        let entries = fs::read_dir(format!("/proc/{}/fd", process.pid));
        for entry in entries.into_iter().flatten().flatten() {
            let descriptor = entry.path();
            let Some(socket) = fs::read_link(&descriptor).ok().as_deref().and_then(socket_inode)
            else {
                continue;
            };
            if sockets.contains(&socket) && !found.contains_key(&socket) {
                found.insert(socket, Found { owner: describe(process), descriptor });
            }
        }
        if found.len() == sockets.len() {
            break;
        }
    }
    found
}

fn describe(process: Process) -> Owner {
    let Process { pid, started, .. } = process;
    let command = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let command = String::from_utf8_lossy(command.trim_ascii_end()).into_owned();
    Owner { pid: pid.as_raw(), started, command }
}

/// The number of a socket, of what a descriptor is a link to: `socket:[NUMBER]`.
pub(crate) fn socket_inode(link: &Path) -> Option<u64> {
    let number = link.as_os_str().as_bytes().strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::fd::AsRawFd};

    use super::*;

    fn inode(listener: &TcpListener) -> u64 {
        let link = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        socket_inode(&link).unwrap()
    }

    #[test]
    fn a_socket_of_this_process_is_its_own_until_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = inode(&listener);
        let mut owners = Owners::default();
        let [Some(owner), None] = &owners.find(&[socket, u64::MAX])[..] else {
            panic!("{:?}", owners.known)
        };
        assert_eq!(owner.pid, std::process::id().cast_signed());
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(owner.command, name.trim());
        assert_eq!(owners.find(&[socket]).len(), 1);
        drop(listener);
        assert_eq!(owners.find(&[socket]), [None]);
    }

    #[test]
    fn only_sockets_have_such_numbers() {
        for (link, number) in [
            ("socket:[123]", Some(123)),
            ("socket:[]", None),
            ("pipe:[123]", None),
            ("/tmp/socket:[1]", None),
            ("socket:[1] (deleted)", None),
        ] {
            assert_eq!(socket_inode(Path::new(link)), number, "{link}");
        }
    }
}
