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
    use std::{
        process::{Command, Stdio},
        sync::mpsc,
        thread,
    };

    use nix::{
        libc,
        sys::{signal::kill, wait::waitpid},
        unistd::{ForkResult, fork},
    };

    use super::*;
    use crate::needs::needs;

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
    fn all_that_one_request_looks_at_are_waited_for_50_ms_together() {
        let child = WithoutEnvironment::start();
        let (done, is_done) = mpsc::channel();
        let pid = child.0;
        let looks = thread::spawn(move || {
            let patience = Patience::default();
            let environments = [(); 100].map(|()| of(pid, &patience).unwrap());
            done.send(()).unwrap();
            (environments, patience.wait())
        });
        is_done.recv_timeout(Duration::from_mins(1)).expect("it waits for ever");
        let (environments, has_time) = looks.join().unwrap();
        assert!(environments.iter().all(Vec::is_empty));
        assert!(!has_time);
    }

    /// A copy of this process that has unmapped its arguments and its environment: it looks like one that is executing a program.
    struct WithoutEnvironment(Pid);

    impl WithoutEnvironment {
        fn start() -> Self {
            let stat = fs::read_to_string("/proc/self/stat").unwrap();
            // proc_pid_stat(5): the third field comes behind the name. `arg_start` is the 48th, `env_end` the 51st.
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            let field = |number: usize| fields.split_whitespace().nth(number - 3).unwrap();
            let [first, end] = [48, 51].map(|number| field(number).parse::<usize>().unwrap());
            let page = first & !4095;
            // SAFETY: the child has one thread, whose stack is elsewhere. It makes system calls that are async-signal-safe.
            #[allow(unsafe_code)]
            match unsafe { fork() }.unwrap() {
                ForkResult::Parent { child } => {
                    let child = Self(child);
                    while !processes::is_executing(child.0) {
                        thread::yield_now();
                    }
                    child
                }
                ForkResult::Child => unsafe {
                    libc::munmap(page as *mut libc::c_void, end - page);
                    loop {
                        libc::pause();
                    }
                },
            }
        }
    }

    impl Drop for WithoutEnvironment {
        fn drop(&mut self) {
            kill(self.0, Signal::SIGKILL).unwrap();
            waitpid(self.0, None).unwrap();
        }
    }

    #[test]
    fn another_user_is_one_for_a_while() {
        if !needs(geteuid().is_root(), "root, to become another user") {
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
