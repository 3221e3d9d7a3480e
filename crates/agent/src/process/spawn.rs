use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::Command,
    sync::Arc,
};

use nix::{
    errno::Errno,
    libc,
    unistd::{Pid, setgid, setgroups, setsid, setuid},
};
use sandpipe_protocol::TerminalSize;
use tokio::sync::oneshot;

use super::{
    arrivals::Arrivals,
    group::{Group, Scope},
    launch::{InvalidLaunch, Launch},
    limits::FileLimit,
    reaper::{Reaper, Registration},
    stdio::{Streams, Terminal},
    user::{Identity, may_switch},
};

/// A process that was started.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) group: Arc<Group>,
    /// Gets the exit code once the process has been reaped.
    pub(crate) exit: oneshot::Receiver<i32>,
    pub(crate) output: Arrivals,
    /// The other end of standard input, non-blocking; none where it was not to stay open.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) terminal: Option<Terminal>,
}

/// What became of a command. That it can't be executed is a result like another.
#[derive(Debug)]
pub(crate) enum Spawned {
    Running(Process),
    /// 127 where there is no such command, 126 where it can't be executed (POSIX, Shell Command
    /// Language, 2.8.2).
    CannotRun {
        exit_code: i32,
        reason: String,
    },
}

/// Why a command was not started although it may be fit to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    #[error(transparent)]
    Invalid(#[from] InvalidLaunch),
    #[error("the agent could not prepare the process: {0}")]
    SetUp(io::Error),
    #[error("the system has no room for another process: {0}")]
    NoRoom(io::Error),
}

/// Added to the error number of a step between fork and exec: the standard library hands the number
/// of either through the same way, and only a failed exec says something about the command.
const SET_UP_STEP: i32 = 1 << 16;

/// Starts a command, in a terminal of that size if it is to have one. It blocks until the command is
/// executed or has failed to be.
pub(crate) fn spawn(launch: &Launch, size: TerminalSize) -> Result<Spawned, SpawnError> {
    launch.check_cwd()?;
    let streams = Streams::open(launch, size).map_err(SpawnError::SetUp)?;
    let output = Arrivals::new(streams.sources).map_err(SpawnError::SetUp)?;
    let [stdin, stdout, stderr] = streams.theirs;

    let mut command = Command::new(&launch.command);
    command
        .args(&launch.args)
        .env_clear()
        .envs(&launch.env)
        .current_dir(&launch.cwd)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    let scope = if launch.pty { Scope::Session } else { Scope::Group };
    let started = Reaper::start(scope, |registration| {
        let set_up = SetUp {
            pty: launch.pty,
            identity: launch.identity.clone().filter(|_| may_switch()),
            file_limit: launch.file_limit,
            registration,
        };
        let set_up = move || {
            set_up.apply().map_err(|errno| io::Error::from_raw_os_error(errno as i32 + SET_UP_STEP))
        };
        // SAFETY: between fork and exec only async-signal-safe functions may be called, and no memory
        // may be allocated: `apply` makes bare system calls on data that was made ready before, and
        // an error made of a number does not allocate.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(set_up);
        }
        let child = command.spawn()?;
        // A process id always fits: the system's own type is signed.
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        Ok(Pid::from_raw(pid))
    });
    match started {
        Ok((group, exit)) => Ok(Spawned::Running(Process {
            group,
            exit,
            output,
            input: streams.input,
            terminal: streams.terminal,
        })),
        Err(error) => judge(launch, error),
    }
}

/// Tells a command that can't be executed from an agent that can't start any.
fn judge(launch: &Launch, error: io::Error) -> Result<Spawned, SpawnError> {
    let Some(number) = error.raw_os_error() else {
        return Err(SpawnError::SetUp(error));
    };
    if number >= SET_UP_STEP {
        let step = io::Error::from_raw_os_error(number - SET_UP_STEP);
        return Err(SpawnError::SetUp(step));
    }
    let errno = match Errno::from_raw(number) {
        // The search of PATH says this also of a directory on it that can't be looked into.
        Errno::EACCES if !launch.is_found() => Errno::ENOENT,
        errno => errno,
    };
    let exit_code = match errno {
        Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE => {
            return Err(SpawnError::NoRoom(error));
        }
        Errno::ENOENT | Errno::ENOTDIR => 127,
        _ => 126,
    };
    let detail = match errno {
        Errno::E2BIG => {
            " (the arguments and the environment together, or one of them, are longer than the \
             system allows)"
        }
        _ => "",
    };
    let shown: String = launch.command.chars().take(200).collect();
    let reason = format!("sandpipe-agent: {shown}: {}{detail}\n", errno.desc());
    Ok(Spawned::CannotRun { exit_code, reason })
}

/// What a process does to itself between fork and exec.
struct SetUp {
    pty: bool,
    identity: Option<Identity>,
    file_limit: FileLimit,
    registration: Option<Registration>,
}

impl SetUp {
    fn apply(&self) -> nix::Result<()> {
        // A session leader also leads a process group. It has left the terminal that the agent may have
        // been started in, so that the command can neither read it nor type into it (POSIX, setsid).
        setsid()?;
        if self.pty {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())
                .map_err(|error| Errno::from_raw(error.raw_os_error()))?;
        }
        // The guardian may be dead, and the standard library has reset SIGPIPE by now.
        set_action(libc::SIGPIPE, libc::SIG_IGN);
        if let Some(registration) = &self.registration {
            registration.register();
        }
        reset_signals();
        self.file_limit.restore()?;
        if let Some(identity) = &self.identity {
            // The user last: it gives up the right to set the groups.
            setgroups(&identity.groups)?;
            setgid(identity.gid)?;
            setuid(identity.uid)?;
        }
        Ok(())
    }
}

/// Exec keeps an ignored signal ignored (POSIX, exec): an agent that was started by `nohup` or with
/// `&` would hand that on, and its commands could not be interrupted. The standard library has
/// emptied the signal mask already.
fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SIGKILL, SIGSTOP and the C library's own signals are refused, which is as well.
        set_action(signal, libc::SIG_DFL);
    }
}

/// Has a signal ignored, or gives it its default action.
fn set_action(signal: i32, action: libc::sighandler_t) {
    // SAFETY: `signal` is async-signal-safe, and neither action is a handler of ours.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(signal, action);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sandpipe_protocol::CreateExecRequest;

    use super::*;
    use crate::process::Surroundings;

    fn judged(number: i32) -> Option<i32> {
        let surroundings = Surroundings {
            workspace: "/".into(),
            default_user: None,
            env: BTreeMap::default(),
            file_limit: FileLimit::raise().unwrap(),
        };
        let request = CreateExecRequest { command: "/x".into(), ..CreateExecRequest::default() };
        let launch = Launch::prepare(request, &surroundings).unwrap();
        match judge(&launch, io::Error::from_raw_os_error(number)) {
            Ok(Spawned::CannotRun { exit_code, .. }) => Some(exit_code),
            Ok(Spawned::Running(_)) => panic!("an error is not a process"),
            Err(_) => None,
        }
    }

    #[test]
    fn a_command_that_cant_be_executed_is_a_result() {
        assert_eq!(judged(libc::ENOENT), Some(127));
        assert_eq!(judged(libc::ENOTDIR), Some(127));
        for number in [
            libc::EACCES,
            libc::ENOEXEC,
            libc::E2BIG,
            libc::ELOOP,
            libc::ENAMETOOLONG,
            libc::EISDIR,
            libc::ETXTBSY,
        ] {
            assert_eq!(judged(number), Some(126));
        }
    }

    #[test]
    fn an_agent_that_cant_start_a_process_is_an_error() {
        for number in [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE] {
            assert_eq!(judged(number), None);
            assert_eq!(judged(SET_UP_STEP + number), None);
        }
        assert_eq!(judged(SET_UP_STEP + libc::EPERM), None);
    }
}
