use std::{collections::BTreeMap, ffi::CString, ffi::OsString, fmt, path::PathBuf};

use nix::{
    errno::Errno,
    unistd::{Gid, Group, Uid, User, getegid, geteuid, getgrouplist},
};
use rustix::thread::{CapabilitySet, capabilities};

use crate::sandbox::Credentials;

/// The user and groups that a command runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(super) uid: Uid,
    gid: Gid,
    /// The supplementary groups.
    groups: Vec<Gid>,
    account: Account,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Account {
    /// Only a group was asked for: the user is the agent's own.
    Own,
    /// A numeric user that the system has no entry of.
    Unknown,
    Known {
        name: String,
        home: PathBuf,
    },
}

/// Why a command can't run as the user that was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserError {
    #[error("the user {0:?} is neither USER, USER:GROUP nor :GROUP, each a name or a numeric id")]
    Malformed(String),
    #[error("there is no user {0:?} on this system; use a name or a numeric id of /etc/passwd")]
    UnknownUser(String),
    /// The agent's own group, which may be root's, is nobody else's (as for chroot(1), `--userspec`).
    #[error(
        "the user {0} has no entry in /etc/passwd, which would say its group: ask for \"{0}:GROUP\""
    )]
    NoGroup(Uid),
    #[error("there is no group {0:?} on this system; use a name or a numeric id of /etc/group")]
    UnknownGroup(String),
    #[error(
        "the agent runs as uid {own_uid} gid {own_gid} and may not run a command as {requested:?}: \
         leave \"user\" out, or run the agent as root with CAP_SETUID and CAP_SETGID"
    )]
    NotRoot { own_uid: Uid, own_gid: Gid, requested: String },
    #[error("the user {requested:?} could not be looked up: {}", errno.desc())]
    LookUp { requested: String, errno: Errno },
}

impl Identity {
    /// Looks up `user[:group]`. It may block: the system's user database can be on the network.
    pub(crate) fn look_up(requested: &str) -> Result<Self, UserError> {
        let (user, group) =
            split(requested).ok_or_else(|| UserError::Malformed(requested.into()))?;
        let failed = |errno| UserError::LookUp { requested: requested.into(), errno };

        let entry = match user {
            None => known(User::from_uid(geteuid())).map_err(failed)?,
            Some(name) => match known(User::from_name(name)).map_err(failed)? {
                Some(entry) => Some(entry),
                None => match number(name) {
                    Some(uid) => known(User::from_uid(Uid::from_raw(uid))).map_err(failed)?,
                    None => return Err(UserError::UnknownUser(name.into())),
                },
            },
        };
        let uid = match (user, &entry) {
            (None, _) => geteuid(),
            (Some(_), Some(entry)) => entry.uid,
            (Some(name), None) => {
                Uid::from_raw(number(name).ok_or_else(|| UserError::UnknownUser(name.into()))?)
            }
        };
        let gid = match group {
            Some(name) => match known(Group::from_name(name)).map_err(failed)? {
                Some(entry) => entry.gid,
                None => {
                    Gid::from_raw(number(name).ok_or_else(|| UserError::UnknownGroup(name.into()))?)
                }
            },
            None => match &entry {
                Some(entry) => entry.gid,
                // This one is the agent's own, and so is the group.
                None if uid == geteuid() => getegid(),
                None => return Err(UserError::NoGroup(uid)),
            },
        };
        if !may_switch() && (uid != geteuid() || gid != getegid()) {
            return Err(UserError::NotRoot {
                own_uid: geteuid(),
                own_gid: getegid(),
                requested: requested.into(),
            });
        }
        let groups = match &entry {
            Some(entry) => {
                let name = CString::new(entry.name.as_str())
                    .map_err(|_| UserError::Malformed(requested.into()))?;
                getgrouplist(&name, gid).map_err(failed)?
            }
            None => vec![gid],
        };
        let account = match (user, entry) {
            (None, _) => Account::Own,
            (Some(_), None) => Account::Unknown,
            (Some(_), Some(entry)) => Account::Known { name: entry.name, home: entry.dir },
        };
        Ok(Self { uid, gid, groups, account })
    }

    /// The user's number.
    pub(crate) fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

    /// What it takes to become that user; none where there is nothing to set.
    pub(crate) fn credentials_to_take(&self) -> Option<Credentials> {
        may_switch().then(|| self.credentials())
    }

    fn credentials(&self) -> Credentials {
        Credentials {
            uid: self.uid.as_raw(),
            gid: self.gid.as_raw(),
            groups: self.groups.iter().map(|group| group.as_raw()).collect(),
        }
    }

    /// Sets the variables of a login (POSIX, Base Definitions, 8.3). For a user without an entry they
    /// are as in most container engines: a home of `/`, and no name rather than the agent's.
    pub(super) fn apply_to(&self, env: &mut BTreeMap<OsString, OsString>) {
        match &self.account {
            Account::Own => {}
            Account::Unknown => {
                env.insert("HOME".into(), "/".into());
                env.remove("USER".as_ref() as &std::ffi::OsStr);
                env.remove("LOGNAME".as_ref() as &std::ffi::OsStr);
            }
            Account::Known { name, home } => {
                env.insert("HOME".into(), home.into());
                env.insert("USER".into(), name.into());
                env.insert("LOGNAME".into(), name.into());
            }
        }
    }
}

/// `uid:gid`, as an exec's item shows it.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.uid, self.gid)
    }
}

/// An entry of the system's user database. There is none where there is no such database, as in images of one program.
fn known<T>(entry: Result<Option<T>, Errno>) -> Result<Option<T>, Errno> {
    match entry {
        // musl says so of /etc/passwd and /etc/group.
        Err(Errno::ENOENT) => Ok(None),
        entry => entry,
    }
}

/// Returns whether the agent may become another user: root may that has not lost its capabilities, as in a container without any. Where it
/// may not, the only one it can be asked for is its own, and there is nothing to set.
pub(super) fn may_switch() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    geteuid().is_root() && capabilities(None).is_ok_and(|own| own.effective.contains(needed))
}

/// A numeric id. The highest one stands for "leave it as it is" (POSIX, chown) and is nobody's.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number != u32::MAX)
}

/// Splits `user[:group]`; either side may be left out, not both.
fn split(requested: &str) -> Option<(Option<&str>, Option<&str>)> {
    let (user, group) = requested.split_once(':').unwrap_or((requested, ""));
    let user = Some(user).filter(|user| !user.is_empty());
    let group = Some(group).filter(|group| !group.is_empty());
    ((user.is_some() || group.is_some()) && !requested.contains('\0')).then_some((user, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_side_may_be_left_out_but_not_both() {
        assert_eq!(split("node"), Some((Some("node"), None)));
        assert_eq!(split("node:"), Some((Some("node"), None)));
        assert_eq!(split("1000:100"), Some((Some("1000"), Some("100"))));
        assert_eq!(split(":100"), Some((None, Some("100"))));
        assert_eq!(split(":"), None);
        assert_eq!(split(""), None);
    }

    #[test]
    fn names_and_numbers_mean_the_same_user() {
        let by_number = Identity::look_up(&geteuid().to_string()).unwrap();
        assert_eq!(by_number.uid, geteuid());
        if let Some(entry) = User::from_uid(geteuid()).unwrap() {
            assert_eq!(by_number, Identity::look_up(&entry.name).unwrap());
        }
    }

    #[test]
    fn a_user_without_an_entry_needs_a_group() {
        let unknown = 3_999_999_999;
        assert_eq!(User::from_uid(Uid::from_raw(unknown)).unwrap(), None);
        let error = Identity::look_up(&unknown.to_string()).unwrap_err();
        assert!(error.to_string().contains("\"3999999999:GROUP\""), "{error}");
        if may_switch() {
            let identity = Identity::look_up("3999999999:3999999998").unwrap();
            assert_eq!(identity.groups, [Gid::from_raw(3_999_999_998)]);
        }
    }

    #[test]
    fn an_unknown_name_is_named_in_the_error() {
        let error = Identity::look_up("no-such-user-7").unwrap_err();
        assert!(error.to_string().contains("no-such-user-7"));
        let error = Identity::look_up(":no-such-group-7").unwrap_err();
        assert!(error.to_string().contains("no-such-group-7"));
    }
}
