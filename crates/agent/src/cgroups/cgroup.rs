//! What can be done with any cgroup, by its directory.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use nix::unistd::Pid;

/// The cgroup that this process is in, as a directory; `None` where there is no such hierarchy, or this process does not see its
/// place in it.
pub(crate) fn own() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    find_own(&mounts, &cgroups)
}

/// Reads a `/proc/PID/mountinfo` (proc(5)) and a `/proc/PID/cgroup` (cgroups(7)).
fn find_own(mounts: &str, cgroups: &str) -> Option<PathBuf> {
    let path = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        if file_system.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        // Which directory of the hierarchy is to be seen, and where.
        let (root, place) = (fields.next()?, fields.next()?);
        let rest = Path::new(path).strip_prefix(root).ok()?;
        // Blanks and the like are written in octal numbers: such a place is not looked for.
        (!place.contains('\\')).then(|| Path::new(place).join(rest))
    })
}

/// Opens what a cgroup is killed by (since Linux 5.14).
pub(super) fn open_kill(cgroup: &Path) -> io::Result<File> {
    File::options().write(true).open(cgroup.join("cgroup.kill"))
}

/// Kills whatever is in a cgroup and below it, and what that forks meanwhile.
pub(crate) fn kill(cgroup: &Path) -> io::Result<()> {
    open_kill(cgroup)?.write_all(b"1")
}

/// Whether a process that lives is in a cgroup or below it. One that can't be looked at has none.
pub(crate) fn is_populated(cgroup: &Path) -> bool {
    let events = fs::read_to_string(cgroup.join("cgroup.events")).unwrap_or_default();
    events.lines().any(|line| line == "populated 1")
}

/// The processes in a cgroup and below it that can be seen from here.
pub(crate) fn processes(cgroup: &Path) -> Vec<Pid> {
    let members = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let members = members.lines().filter_map(|line| line.parse().ok());
    // Those of another PID namespace have no number here.
    let mut members: Vec<_> = members.filter(|pid| *pid > 0).map(Pid::from_raw).collect();
    for below in below(cgroup) {
        members.extend(processes(&below));
    }
    members
}

/// Removes a cgroup and all below it, where nobody is in them any more.
pub(crate) fn remove(cgroup: &Path) -> io::Result<()> {
    for below in below(cgroup) {
        remove(&below)?;
    }
    fs::remove_dir(cgroup)
}

/// The cgroups that are right below another.
fn below(cgroup: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cgroup).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_cgroup_is_where_the_hierarchy_is_mounted() {
        let both = "30 25 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n\
                    31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw\n\
                    32 30 0:28 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n";
        let found = find_own(both, "3:pids:/x\n0::/\n").unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/unified"));
        let found = find_own(both, "0::/user.slice/a.scope\n").unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/unified/user.slice/a.scope"));
        // A container that sees its own part.
        let part = "31 30 0:27 /docker/7 /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n";
        let found = find_own(part, "0::/docker/7/a\n").unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/a"));
        assert_eq!(find_own(part, "0::/docker/8\n"), None);
        assert_eq!(find_own(part, "3:pids:/x\n"), None);
        assert_eq!(find_own("", "0::/\n"), None);
    }
}
