use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    libc,
    sys::{
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, pipe2, setsid},
};

use super::watch::NAME;

/// How long the guardian may take to end after its pipe was closed. It has nothing left to do then.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A guardian that runs, as the agent sees it.
#[derive(Debug)]
pub(in crate::process) struct Guardian {
    pid: Pid,
    pipe: Arc<OwnedFd>,
}

impl Guardian {
    /// Starts one. The caller sees to it that nobody else reaps it meanwhile.
    pub(in crate::process) fn start() -> io::Result<Self> {
        let (theirs, pipe) = pipe2(OFlag::O_CLOEXEC)?;
        // The running program, also where its file has been replaced or removed.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(NAME)
            // A token in it would be there for others to read after the agent.
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            // Whoever reads the agent's output is not to wait for the guardian.
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: only system calls that are async-signal-safe, and no memory is allocated.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(|| {
                // What a terminal or a shell sends to the agent's group is not for it.
                setsid()?;
                for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                    // An ignored signal stays so over exec (POSIX, `exec`): there is no moment at
                    // which it could be ended by one.
                    libc::signal(signal, libc::SIG_IGN);
                }
                Ok(())
            });
        }
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        Ok(Self { pid: Pid::from_raw(pid), pipe: Arc::new(pipe) })
    }

    pub(in crate::process) fn pid(&self) -> Pid {
        self.pid
    }

    /// Where it is told what happens.
    pub(in crate::process) fn pipe(&self) -> &Arc<OwnedFd> {
        &self.pipe
    }

    /// Ends it, and reaps it.
    pub(in crate::process) fn end(self) {
        drop(self.pipe);
        let deadline = Instant::now() + END_TIMEOUT;
        let mut pause = Duration::from_millis(1);
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
                _ => return,
            }
            if Instant::now() >= deadline {
                // Something holds it up, as by SIGSTOP.
                let _gone = kill(self.pid, Signal::SIGKILL);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(25));
        }
    }
}
