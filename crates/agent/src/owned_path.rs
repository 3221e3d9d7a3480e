//! Whose a file or a directory is: its own permissions, and those of what leads to it.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{self, Component, Path, PathBuf},
};

use nix::{
    errno::Errno,
    unistd::{Gid, Group, Uid, User, geteuid},
};

/// That others than the agent's user and root may change what is in a directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenToOthers {
    /// The directory is another user's.
    #[error(
        "the state directory {} belongs to the user {owner}, not to {own}, who runs the agent: give \
         another one with --state-dir",
        path.display()
    )]
    Owner { path: PathBuf, owner: u32, own: u32 },
    /// Others may write to it.
    #[error(
        "others may write to the state directory {} (mode {mode:03o}): run `chmod 700 {}`",
        path.display(), path.display()
    )]
    Mode { path: PathBuf, mode: u32 },
    /// Others could replace it.
    #[error("others could replace the state directory {}: {way}, or give another one with --state-dir", path.display())]
    Way { path: PathBuf, way: OpenWay },
}

/// A directory or a link on the way to something, which others than the agent's user and root may change.
#[derive(Debug, thiserror::Error)]
#[error(
    "they may change {}, which leads there (mode {mode:03o}, of the user {owner}); run `chmod go-w {}`",
    path.display(), path.display()
)]
pub struct OpenWay {
    path: PathBuf,
    mode: u32,
    owner: u32,
}

impl OpenWay {
    fn new(path: PathBuf, metadata: &Metadata) -> Self {
        Self { path, mode: metadata.mode() & 0o7777, owner: metadata.uid() }
    }
}

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// In such a directory only the owner of an entry may rename or remove it (inode(7)).
const STICKY: u32 = 0o1000;

/// Groups with a lower number are the system's own, and not of a directory service that tells no members (`login.defs(5)`, `GID_MIN`).
const FIRST_OF_USERS: u32 = 1000;

/// How many links a path may lead through, as with Linux (`path_resolution(7)`).
const MAX_LINKS: u32 = 40;

/// Checks a directory, which is open as `directory`, and what leads to it; returns its canonical path.
///
/// # Errors
/// The outer one: the system does not say.
pub(crate) fn check_directory(
    path: &Path,
    directory: &File,
) -> io::Result<Result<PathBuf, OpenToOthers>> {
    let own = geteuid();
    let metadata = directory.metadata()?;
    let mode = metadata.mode() & 0o7777;
    if metadata.uid() != own.as_raw() {
        let (owner, own) = (metadata.uid(), own.as_raw());
        return Ok(Err(OpenToOthers::Owner { path: path.into(), owner, own }));
    }
    if mode & (GROUP_WRITES | OTHERS_WRITE) != 0 {
        return Ok(Err(OpenToOthers::Mode { path: path.into(), mode }));
    }
    Ok(check_way(path, &metadata)?.map_err(|way| OpenToOthers::Way { path: path.into(), way }))
}

/// Checks the directories and links that lead to what is open, as OpenSSH does it with a user's files
/// (`sshd_config(5)`, `StrictModes`); returns its canonical path. A directory like `/tmp` is good enough to lead
/// there.
///
/// # Errors
/// The outer one: the system does not say, or the path leads elsewhere by now.
pub(crate) fn check_way(path: &Path, open: &Metadata) -> io::Result<Result<PathBuf, OpenWay>> {
    walk(path, open, |_| {})
}

/// Checks a program, which is open as `file`, and the directories and links that lead to it; returns all of these and where it is.
///
/// # Errors
/// The outer one: the system does not say, or the path leads elsewhere by now.
pub(crate) fn check_steps(path: &Path, file: &File) -> io::Result<Result<Vec<PathBuf>, OpenWay>> {
    let open = file.metadata()?;
    let mut steps = Vec::new();
    let walked = walk(path, &open, |step| steps.push(step.to_owned()))?;
    Ok(match walked {
        Ok(path) if is_shared(&open) || !is_trusted(&open)? => Err(OpenWay::new(path, &open)),
        Ok(path) => {
            steps.push(path);
            Ok(steps)
        }
        Err(way) => Err(way),
    })
}

/// Follows a path from `/` on as [`check_way`] does, and tells each directory and each link that leads there.
fn walk(
    path: &Path,
    open: &Metadata,
    mut tell: impl FnMut(&Path),
) -> io::Result<Result<PathBuf, OpenWay>> {
    let mut at = PathBuf::from("/");
    let mut rest: Vec<OsString> = names(&path::absolute(path)?).collect();
    let mut links = 0;
    while let Some(name) = rest.pop() {
        let directory = at.symlink_metadata()?;
        if !leads_safely(&directory)? {
            return Ok(Err(OpenWay::new(at, &directory)));
        }
        tell(&at);
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        let entry = at.symlink_metadata()?;
        if entry.is_symlink() {
            // In a sticky directory it is its owner's to replace.
            if !is_trusted(&entry)? {
                return Ok(Err(OpenWay::new(at, &entry)));
            }
            tell(&at);
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::ELOOP.into());
            }
            let target = at.read_link()?;
            at.pop();
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            rest.extend(names(&target));
        }
    }
    // Nobody else can change from now on where the path leads.
    let there = at.symlink_metadata()?;
    if (there.dev(), there.ino()) != (open.dev(), open.ino()) {
        return Err(io::Error::other("it was replaced while the agent started"));
    }
    Ok(Ok(at))
}

/// What a path goes through, the last first.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    let names = path.components().rev();
    names
        .filter(|name| matches!(name, Component::Normal(_) | Component::ParentDir))
        .map(|name| name.as_os_str().to_owned())
}

/// Whether something is the agent's user's or root's. Where a user namespace has no root, the owner of `/`
/// stands for it.
pub(crate) fn is_trusted(metadata: &Metadata) -> io::Result<bool> {
    let root = Path::new("/").metadata()?.uid();
    Ok([0, root, geteuid().as_raw()].contains(&metadata.uid()))
}

/// Whether nobody but the agent's user and root can replace what is in a directory.
fn leads_safely(directory: &Metadata) -> io::Result<bool> {
    let is_sticky = directory.mode() & STICKY != 0;
    Ok(is_trusted(directory)? && (!is_shared(directory) || is_sticky))
}

/// Returns whether others than the owner, root and the agent's user may write to something.
fn is_shared(metadata: &Metadata) -> bool {
    let mode = metadata.mode();
    let is_of_group = || !is_private(Gid::from_raw(metadata.gid()), geteuid());
    mode & OTHERS_WRITE != 0 || (mode & GROUP_WRITES != 0 && is_of_group())
}

/// Returns whether a group is root's; or the one that many systems make for each user, with nobody else in it: the
/// user's files are the group's to write then (umask 002); or one of the system's in which nobody is, such as
/// Debian's staff, to which /usr/local may belong.
fn is_private(group: Gid, user: Uid) -> bool {
    if group.as_raw() == 0 {
        return true;
    }
    let names = || {
        let user = User::from_uid(user).ok()??;
        let is_of_system = group.as_raw() < FIRST_OF_USERS;
        let group = Group::from_gid(group).ok()??;
        let is_own = |member: &String| *member == user.name || member == "root";
        Some((is_of_system || group.name == user.name) && group.mem.iter().all(is_own))
    };
    let users = || fs::read_to_string("/etc/passwd").ok();
    names().unwrap_or(false)
        && users().is_some_and(|users| !is_group_of_another(&users, group, user))
}

/// Whether it is the group of another user than this by `/etc/passwd`: who is in a group by that is not
/// listed as its member (passwd(5)).
fn is_group_of_another(users: &str, group: Gid, user: Uid) -> bool {
    users.lines().any(|line| {
        let mut ids = line.split(':').skip(2).map(str::parse);
        let (uid, gid) = (ids.next(), ids.next());
        gid == Some(Ok(group.as_raw())) && uid != Some(Ok(user.as_raw()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_private_where_it_is_no_other_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
        let is_anothers =
            |users: &str| is_group_of_another(users, Gid::from_raw(1000), Uid::from_raw(1000));
        assert!(!is_anothers(users));
        assert!(is_anothers(&format!("{users}bob:x:1001:1000::/home/bob:/bin/sh\n")));
        // Another name of the same user, and lines that name nobody.
        assert!(!is_anothers(&format!("{users}anna:x:1000:1000:::\n\n+\n+::::::\n")));
    }
}
