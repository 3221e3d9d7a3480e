//! Whose a directory is: its own permissions, and those of the directories that lead to it.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::unistd::{Gid, Group, Uid, User, geteuid};

/// That others than the agent's user and root may change what is in a directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenToOthers {
    /// The directory is another user's.
    #[error(
        "the state directory {} belongs to the user {owner}, not to {own}, who runs the agent: give \
         another one with --state-dir",
        path.display()
    )]
    Owner {
        /// The directory.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
        /// The number of the agent's user.
        own: u32,
    },
    /// Others may write to it.
    #[error(
        "others may write to the state directory {} (mode {mode:03o}): run `chmod 700 {}`",
        path.display(), path.display()
    )]
    Mode {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Others could replace it.
    #[error(
        "others could replace the state directory {}: they may write to {} (mode {mode:03o}, of the user \
         {owner}); run `chmod go-w {}`, or give another one with --state-dir",
        path.display(), parent.display(), parent.display()
    )]
    Parent {
        /// The directory.
        path: PathBuf,
        /// The one that leads to it.
        parent: PathBuf,
        /// The permission bits of that.
        mode: u32,
        /// The number of its owner.
        owner: u32,
    },
}

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// In such a directory only the owner of an entry may rename or remove it (inode(7)).
const STICKY: u32 = 0o1000;

/// Checks a directory, which is open as `directory`, and all that lead to its canonical path, as OpenSSH does it
/// with a user's files (`sshd_config(5)`, `StrictModes`). A directory like `/tmp` is good enough to lead there.
///
/// # Errors
/// The outer one: the system does not say.
pub(crate) fn check(path: &Path, directory: &File) -> io::Result<Result<(), OpenToOthers>> {
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
    let root = Path::new("/").metadata()?.uid();
    for parent in path.ancestors().skip(1) {
        let metadata = parent.metadata()?;
        if !leads_safely(&metadata, own, root) {
            return Ok(Err(OpenToOthers::Parent {
                path: path.into(),
                parent: parent.into(),
                mode: metadata.mode() & 0o7777,
                owner: metadata.uid(),
            }));
        }
    }
    // Nobody else can change from now on where the path leads.
    let there = path.metadata()?;
    if (there.dev(), there.ino()) != (metadata.dev(), metadata.ino()) {
        return Err(io::Error::other("it was replaced while the agent started"));
    }
    Ok(Ok(()))
}

/// Whether nobody but this user and root can replace what is in a directory. Where a user namespace has no
/// root, the owner of `/` stands for it.
fn leads_safely(metadata: &Metadata, own: Uid, root: u32) -> bool {
    let mode = metadata.mode();
    let is_trusted = [0, root, own.as_raw()].contains(&metadata.uid());
    let is_shared = mode & OTHERS_WRITE != 0
        || (mode & GROUP_WRITES != 0 && !is_private(Gid::from_raw(metadata.gid()), own));
    is_trusted && (!is_shared || mode & STICKY != 0)
}

/// Whether a group is root's, or the one that many systems make for each user, with nobody else in it: the
/// user's files are the group's to write then (umask 002).
fn is_private(group: Gid, user: Uid) -> bool {
    if group.as_raw() == 0 {
        return true;
    }
    let names = || {
        let user = User::from_uid(user).ok()??;
        let group = Group::from_gid(group).ok()??;
        Some(group.name == user.name && group.mem.iter().all(|member| *member == user.name))
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
