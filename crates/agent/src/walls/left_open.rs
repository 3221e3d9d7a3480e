//! Processes that have a file or directory open from the moment in which nothing protected it: by such a descriptor, also by one that was
//! opened for reading (proc(5), `/proc/PID/fd`), they could write it later.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::{libc, sys::signal::Signal};

use crate::sandbox::{Process, all_processes, process, signal};

/// Number of looks: a descriptor may be handed on meanwhile.
const ROUNDS: u32 = 5;
/// Longest wait for the end of a killed process: one that waits for a device can't end.
const KILLED_WITHIN: Duration = Duration::from_secs(1);

/// Place that is protected again, and the mounts by which it may be open.
#[derive(Clone, Debug)]
pub(super) struct Reprotected {
    pub(super) path: PathBuf,
    pub(super) mounts: BTreeSet<u32>,
}

/// Kills the processes in the PID namespace of another one that have a place open by another mount; returns them.
pub(super) fn kill_holders(member: i32, places: &[Reprotected]) -> Vec<i32> {
    let Ok(namespace) = namespace_of(member) else {
        return Vec::new();
    };
    let mut killed = Vec::new();
    for _ in 0..ROUNDS {
        let members = all_processes();
        let members = members.into_iter().filter(|process| {
            process.pid.as_raw() != member
                && namespace_of(process.pid.as_raw()).is_ok_and(|of| of == namespace)
        });
        let holders: Vec<Process> = members.filter(|process| holds(process, places)).collect();
        if holders.is_empty() {
            break;
        }
        for holder in holders {
            signal(holder.pid, Signal::SIGKILL, |found| {
                (found.pid, found.started) == (holder.pid, holder.started)
            });
            let is_there =
                || process(holder.pid).is_some_and(|found| found.started == holder.started);
            let deadline = Instant::now() + KILLED_WITHIN;
            while is_there() && Instant::now() < deadline {
                thread::yield_now();
            }
            killed.push(holder.pid.as_raw());
        }
    }
    killed
}

fn namespace_of(pid: i32) -> io::Result<PathBuf> {
    // Its first thread may have ended.
    let links = threads(pid)?.map(|thread| fs::read_link(thread.join("ns/pid")));
    links.reduce(io::Result::or).unwrap_or(Err(io::ErrorKind::NotFound.into()))
}

/// Lists the directories of the threads of a process: each may have descriptors of its own (unshare(2), `CLONE_FILES`).
fn threads(pid: i32) -> io::Result<impl Iterator<Item = PathBuf>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(threads.filter_map(|entry| Some(entry.ok()?.path())))
}

fn holds(process: &Process, places: &[Reprotected]) -> bool {
    let threads = threads(process.pid.as_raw());
    threads.into_iter().flatten().any(|thread| thread_holds(&thread, places))
}

fn thread_holds(root: &Path, places: &[Reprotected]) -> bool {
    let is_held = |path: &Path, mount: Option<u32>| {
        places.iter().any(|place| {
            path.starts_with(&place.path)
                && mount.is_some_and(|mount| !place.mounts.contains(&mount))
        })
    };
    let descriptors = match fs::read_dir(root.join("fd")) {
        Ok(descriptors) => descriptors,
        // It has made itself unreadable (prctl(2), PR_SET_DUMPABLE): what it holds is not known.
        Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
    };
    let has_open = descriptors.flatten().any(|entry| {
        let info = root.join("fdinfo").join(entry.file_name());
        fs::read_link(entry.path()).is_ok_and(|path| is_held(&path, mount_in(&info)))
    });
    // These have no such file: a descriptor of our own has.
    let is_in = ["cwd", "root"].iter().any(|name| {
        let link = root.join(name);
        fs::read_link(&link).is_ok_and(|path| is_held(&path, mount_behind(&link)))
    });
    has_open || is_in || maps(root, places)
}

/// Reads the number of the mount that a descriptor is of (proc(5), `/proc/PID/fdinfo`).
fn mount_in(info: &Path) -> Option<u32> {
    let info = fs::read_to_string(info).ok()?;
    let mut fields = info.lines().filter_map(|line| line.strip_prefix("mnt_id:"));
    fields.next()?.trim().parse().ok()
}

fn mount_behind(link: &Path) -> Option<u32> {
    let opened = File::options().read(true).custom_flags(libc::O_PATH).open(link).ok()?;
    mount_in(Path::new(&format!("/proc/self/fdinfo/{}", opened.as_raw_fd())))
}

/// Returns whether a process has a file in its memory, shared, and may write there, now or after
/// mprotect(2): by the mount that protects the file it may not.
fn maps(root: &Path, places: &[Reprotected]) -> bool {
    let read = |name| fs::read(root.join(name)).unwrap_or_default();
    let is_shared_place = |line: &[u8]| {
        let is_shared =
            line.split(|byte| *byte == b' ').nth(1).is_some_and(|mode| mode.ends_with(b"s"));
        let path = line.iter().position(|byte| *byte == b'/').and_then(|begin| line.get(begin..));
        let path = path.map(|path| Path::new(std::ffi::OsStr::from_bytes(path)));
        is_shared
            && path.is_some_and(|path| places.iter().any(|place| path.starts_with(&place.path)))
    };
    if !read("maps").split(|byte| *byte == b'\n').any(is_shared_place) {
        return false;
    }
    let details = read("smaps");
    // What can't be looked at counts.
    if details.is_empty() {
        return true;
    }
    let mut is_of_place = false;
    details.split(|byte| *byte == b'\n').any(|line| {
        let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        if word.contains(&b'-') {
            is_of_place = is_shared_place(line);
        }
        is_of_place && word == b"VmFlags:" && line.windows(4).any(|flag| flag == b" mw ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_memory_that_can_become_writable() {
        let process = tempfile::tempdir().unwrap();
        let place = Reprotected { path: "/w/.env".into(), mounts: BTreeSet::new() };
        for (mode, path, flags, is_found) in [
            ("r--s", "/w/.env", "rd mr mw me ms sd ", true),
            ("rw-s", "/w/.env", "rd wr mr mw me ms sd ", true),
            ("r--s", "/w/.env", "rd mr me ms sd ", false),
            ("rw-p", "/w/.env", "rd wr mr mw me ac sd ", false),
            ("rw-s", "/w/other", "rd wr mr mw me ms sd ", false),
        ] {
            let line = format!("7f10-7f20 {mode} 00000000 00:1f 12  {path}\n");
            let other =
                "7f30-7f40 rw-p 00000000 00:00 0\nSize: 4 kB\nVmFlags: rd wr mr mw me ac \n";
            fs::write(process.path().join("maps"), &line).unwrap();
            let smaps = format!("{line}Size:   4 kB\nVmFlags: {flags}\n{other}");
            fs::write(process.path().join("smaps"), smaps).unwrap();
            let places = std::slice::from_ref(&place);
            assert_eq!(maps(process.path(), places), is_found, "{mode} {path} {flags}");
        }
    }
}
