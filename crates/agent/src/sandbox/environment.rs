//! The environment that a process was started with (proc(5), `/proc/pid/environ`).

use std::{
    cell::Cell,
    fs,
    io::{Error, ErrorKind, Result},
    os::unix::fs::MetadataExt,
    thread::sleep,
    time::Duration,
};

use nix::{
    sys::{
        prctl::{get_dumpable, get_pdeathsig, set_dumpable, set_pdeathsig},
        signal::Signal,
    },
    unistd::{Gid, Pid, Uid, geteuid, setfsgid, setfsuid},
};

use super::processes;

/// How long it is waited at a time. The system tells nobody when a process has executed its program, so that is looked for again and again.
const PAUSE: Duration = Duration::from_micros(500);

/// How much longer may be waited, in all that one request takes, for processes that are just executing a program. One that has unmapped
/// its arguments and its environment looks like that for ever.
#[derive(Debug)]
pub(super) struct Patience(Cell<Duration>);

impl Default for Patience {
    fn default() -> Self {
        Self(Cell::new(Duration::from_millis(50)))
    }
}

impl Patience {
    /// Waits a moment; returns whether there was time for it.
    fn wait(&self) -> bool {
        let left = self.0.get().checked_sub(PAUSE);
        if let Some(left) = left {
            self.0.set(left);
            sleep(PAUSE);
        }
        left.is_some()
    }
}

/// Reads it. For a moment while a process executes a program (execve(2)) it has none: that is waited for.
pub(super) fn of(pid: Pid, patience: &Patience) -> Result<Vec<u8>> {
    let mut environment = read(pid)?;
    while environment.is_empty() {
        let is_executing = processes::is_executing(pid);
        if is_executing && !patience.wait() {
            break;
        }
        environment = read(pid)?;
        if !is_executing {
            break;
        }
    }
    Ok(environment)
}

/// Reads it as it is now.
///
/// Without `CAP_SYS_PTRACE`, which container engines don't give, that of another user's process is closed to root, too. Root reads it as
/// that user then.
fn read(pid: Pid) -> Result<Vec<u8>> {
    let path = format!("/proc/{pid}/environ");
    match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && geteuid().is_root() => {
            let owner = fs::metadata(format!("/proc/{pid}"))?;
            let _user = FileUser::become_user(owner.uid().into(), owner.gid().into())?;
            fs::read(&path)
        }
        environment => environment,
    }
}

/// The user and group as whom this thread accesses files, in place of its own, for as long as this lives (setfsuid(2)).
///
/// For signals and for who may look into this process its own count, as before.
struct FileUser {
    uid: Uid,
    gid: Gid,
    death_signal: Option<Signal>,
    is_dumpable: bool,
}

impl FileUser {
    fn become_user(uid: Uid, gid: Gid) -> Result<Self> {
        // The change takes both back (prctl(2), PR_SET_PDEATHSIG and PR_SET_DUMPABLE).
        let (death_signal, is_dumpable) = (get_pdeathsig()?, get_dumpable()?);
        let before = Self { gid: setfsgid(gid), uid: setfsuid(uid), death_signal, is_dumpable };
        // The calls don't say whether they did it, but who it was before.
        let is_done = setfsgid(gid) == gid && setfsuid(uid) == uid;
        if is_done { Ok(before) } else { Err(Error::from(ErrorKind::PermissionDenied)) }
    }
}

impl Drop for FileUser {
    fn drop(&mut self) {
        setfsuid(self.uid);
        setfsgid(self.gid);
        // The system has said that it knows both.
        let _known = set_dumpable(self.is_dumpable);
        let _known = set_pdeathsig(self.death_signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn is_that_of_the_start() {
        let mut child = Command::new("sleep")
            .arg("600")
            .env_clear()
            .envs([("A", "b"), ("C", "")])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        // Until it has executed the program it is that of this process.
        let mut environment = of(pid, &Patience::default()).unwrap();
        while environment.len() > 16 {
            environment = of(pid, &Patience::default()).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(environment, b"A=b\0C=\0");
    }

    #[test]
    fn another_user_is_one_for_a_while() {
        if !geteuid().is_root() {
            return;
        }
        let file_user = || {
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
            line.split_whitespace().nth(4).unwrap().parse::<u32>().unwrap()
        };
        set_pdeathsig(Signal::SIGUSR1).unwrap();
        let user = FileUser::become_user(Uid::from_raw(65_534), Gid::from_raw(65_534)).unwrap();
        assert_eq!(file_user(), 65_534);
        drop(user);
        assert_eq!(file_user(), 0);
        assert_eq!(get_pdeathsig().unwrap(), Some(Signal::SIGUSR1));
        assert!(get_dumpable().unwrap());
    }
}
