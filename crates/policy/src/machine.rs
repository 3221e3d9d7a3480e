//! What this machine has to build walls with.

use std::{
    ffi::CString,
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::Program;

/// bubblewrap, as it was found.
#[derive(Clone, Debug)]
pub struct Bubblewrap {
    /// Its executable.
    pub program: Program,
    /// Its version.
    pub version: Version,
}

/// A version: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The first that has `--perms`.
const OLDEST: Version = Version(0, 5, 0);

/// Why no walls can be built here, and what mends it.
#[derive(Debug, thiserror::Error)]
pub enum NoWalls {
    /// It is there and does not say its version.
    #[error("{path} does not tell its version: {1}", path = .0.display())]
    Broken(PathBuf, String),
    /// It is too old.
    #[error("{} is version {}, and a policy needs {OLDEST} or later: install a newer bubblewrap", .0.program.path().display(), .0.version)]
    TooOld(Bubblewrap),
    /// It may not make namespaces.
    #[error("bubblewrap can't make namespaces here ({message}): {mend}")]
    Refused {
        /// What it said.
        message: String,
        /// What mends it.
        mend: &'static str,
    },
}

/// Returns whether an address is one of this machine's own, on whatever interface: what is sent there comes from it, too, or a socket can
/// be bound to it, as to a second address of an interface and to all of a network on the loopback.
#[must_use]
pub fn has_address(address: IpAddr) -> bool {
    // Nobody has it (RFC 5737). Where it can be bound all the same, so can every other (ip(7), `ip_nonlocal_bind`).
    const NOBODYS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let is_bound = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    is_source(address) || is_bound(address) && !is_bound(NOBODYS)
}

fn is_source(address: IpAddr) -> bool {
    const DISCARD: u16 = 9;
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = || {
        let socket = UdpSocket::bind((any, 0))?;
        // Nothing is sent.
        socket.connect((address, DISCARD))?;
        socket.local_addr()
    };
    source().is_ok_and(|source| source.ip() == address)
}

/// Asks a bubblewrap for its version, and has it build the smallest of boxes, since whether it may only shows when it does.
///
/// # Errors
///
/// It is too old, or may not.
pub fn bubblewrap(program: &Program) -> Result<Bubblewrap, NoWalls> {
    let start = || {
        let mut command = Command::new(program.executable());
        // As a box is started.
        command.env_clear().stdin(Stdio::null());
        command
    };
    let broken = |text| NoWalls::Broken(program.path().to_owned(), text);
    let version = start().arg("--version").output();
    let version = version.map_err(|error| broken(error.to_string()))?;
    let text = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let version = parse_version(&text).ok_or_else(|| broken(text))?;
    let bubblewrap = Bubblewrap { program: program.clone(), version };
    if bubblewrap.version < OLDEST {
        return Err(NoWalls::TooOld(bubblewrap));
    }
    let trial = start()
        .args(if is_root() { &[][..] } else { &["--unshare-user"] })
        .args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--as-pid-1"])
        .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--"])
        // Itself: it is there, and works.
        .args(["/proc/self/exe", "--version"])
        .output();
    let (succeeded, message) = match trial {
        Ok(output) => {
            (output.status.success(), String::from_utf8_lossy(&output.stderr).trim().to_owned())
        }
        Err(error) => (false, error.to_string()),
    };
    if succeeded {
        return Ok(bubblewrap);
    }
    let setting =
        |name: &str| fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default();
    Err(NoWalls::Refused { message, mend: mend(setting) })
}

/// `bubblewrap 0.8.0`
fn parse_version(text: &str) -> Option<Version> {
    let mut numbers = text.strip_prefix("bubblewrap ")?.split('.').map(str::parse::<u32>);
    let mut next = || numbers.next().unwrap_or(Ok(0)).ok();
    Some(Version(next()?, next()?, next()?))
}

/// What keeps a user from making namespaces, as the settings below `/proc/sys` tell.
fn mend(setting: impl Fn(&str) -> String) -> &'static str {
    if setting("kernel/apparmor_restrict_unprivileged_userns").trim() == "1" {
        "AppArmor forbids it: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or give bwrap a profile with `userns`"
    } else if setting("kernel/unprivileged_userns_clone").trim() == "0" {
        "`sudo sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if setting("user/max_user_namespaces").trim() == "0" {
        "`sudo sysctl -w user.max_user_namespaces=15000`"
    } else {
        "in a container, start that with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, or give it to the agent as its image"
    }
}

/// Whether the kernel can keep commands from abstract sockets that others listen on (Landlock's ABI 6, since Linux 6.12).
#[must_use]
pub fn scopes_abstract_sockets() -> bool {
    landlock_abi() >= 6
}

/// Whether the kernel can keep commands from named pipes (Landlock's ABI 2, since Linux 5.19).
#[must_use]
pub fn restricts_named_pipes() -> bool {
    landlock_abi() >= 2
}

fn landlock_abi() -> libc::c_long {
    const VERSION: libc::c_long = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag it reads no memory (landlock_create_ruleset(2)).
    #[allow(unsafe_code)]
    unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, VERSION)
    }
}

/// Whether this process is root's.
#[must_use]
pub fn is_root() -> bool {
    user() == 0
}

/// Whether this user could make something in a directory, if need be after a change of its mode.
#[must_use]
pub fn can_make_in(directory: &Path) -> bool {
    let Ok(path) = CString::new(directory.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: the path is a string that ends with NUL.
    #[allow(unsafe_code)]
    let answer =
        unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) };
    let is_read_only = || io::Error::last_os_error().raw_os_error() == Some(libc::EROFS);
    let is_own = || directory.metadata().is_ok_and(|metadata| metadata.uid() == user());
    answer == 0 || (!is_read_only() && is_own())
}

pub(crate) fn user() -> u32 {
    // SAFETY: geteuid(2) always succeeds and touches no memory.
    #[allow(unsafe_code)]
    unsafe {
        libc::geteuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(parse_version("bubblewrap 0.8.0"), Some(Version(0, 8, 0)));
        assert_eq!(parse_version("bubblewrap 0.11"), Some(Version(0, 11, 0)));
        assert!(parse_version("bubblewrap 0.11").unwrap() > OLDEST);
        assert!(parse_version("bubblewrap 0.4.1").unwrap() < OLDEST);
        for wrong in ["", "bubblewrap", "bubblewrap x", "0.8.0", "bubblewrap 0.8.x"] {
            assert_eq!(parse_version(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_mends_it_is_what_forbids_it() {
        for (name, value, command) in [
            (
                "kernel/apparmor_restrict_unprivileged_userns",
                "1\n",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            ("kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
            ("user/max_user_namespaces", "0\n", "user.max_user_namespaces=15000"),
            ("other", "0", "--security-opt seccomp=unconfined"),
        ] {
            let mend = mend(|asked| if asked == name { value.to_owned() } else { String::new() });
            assert!(mend.contains(command), "{mend}");
        }
    }
    #[test]
    fn every_address_that_leads_to_this_machine_is_its_own() {
        // What is sent to the second comes from the first, as with a second address of an interface.
        for own in ["127.0.0.1", "127.9.9.9"] {
            assert!(has_address(own.parse().unwrap()), "{own}");
        }
        for other in ["192.0.2.1", "198.51.100.1", "2001:db8::1"] {
            assert!(!has_address(other.parse().unwrap()), "{other}");
        }
    }
}
