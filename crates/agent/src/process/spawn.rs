use std::{
    ffi::{CString, NulError},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    sync::Arc,
};

use nix::errno::Errno;
use sandpipe_protocol::TerminalSize;
use tokio::sync::oneshot;

use super::{
    child::{Child, Failure},
    group::{Group, Scope},
    launch::{InvalidLaunch, Launch},
    limits::{DescriptorPermit, TooManyDescriptors},
    output_pipes::OutputPipes,
    program::Program,
    reaper::Reaper,
    stdio::{PtyMaster, Streams},
    user::{Identity, may_switch},
};

/// A process that was started.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) group: Arc<Group>,
    /// Gets the exit code once the process has been reaped.
    pub(crate) exit: oneshot::Receiver<i32>,
    pub(crate) output: OutputPipes,
    /// The other end of standard input, non-blocking; none where it was not to stay open.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) terminal: Option<PtyMaster>,
    /// The descriptors that it takes.
    pub(crate) descriptors: DescriptorPermit,
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
    #[error(transparent)]
    TooManyDescriptors(#[from] TooManyDescriptors),
    #[error("the system refuses {what}: {error}; stop some commands, or raise its limit ({limit})")]
    NoRoom { what: &'static str, limit: &'static str, error: io::Error },
}

impl SpawnError {
    /// The system has no room for one more process or thread.
    pub(crate) fn no_process(error: io::Error) -> Self {
        Self::NoRoom { what: "another process", limit: "ulimit -u, pids.max", error }
    }

    /// The agent lacks something that it needs for a process.
    pub(crate) fn set_up(error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let errno = error.raw_os_error().map(Errno::from_raw);
        let (what, limit) = match errno {
            Some(Errno::EMFILE) => ("another open file", "ulimit -n"),
            Some(Errno::ENFILE) => ("another open file", "fs.file-max"),
            Some(Errno::ENOMEM) => ("more memory", "ulimit -v, memory.max"),
            // As where another user has no room for a process (setuid(2)).
            Some(Errno::EAGAIN) => return Self::no_process(error),
            _ => return Self::SetUp(error),
        };
        Self::NoRoom { what, limit, error }
    }
}

/// Starts a command, in a terminal of that size if it is to have one. It blocks until the command is
/// executed or has failed to be.
pub(crate) fn spawn(
    launch: &Launch,
    size: TerminalSize,
    descriptors: DescriptorPermit,
) -> Result<Spawned, SpawnError> {
    launch.check_cwd()?;
    // It was found fit to be started, which a NUL is not.
    let nul = |error: NulError| SpawnError::SetUp(error.into());
    let program = Program::of(launch).map_err(nul)?;
    let cwd = CString::new(launch.cwd.as_os_str().as_bytes()).map_err(nul)?;
    let streams = Streams::open(launch, size).map_err(SpawnError::set_up)?;
    let output = OutputPipes::new(streams.sources).map_err(SpawnError::set_up)?;
    let identity = launch.identity.as_ref().filter(|_| may_switch());
    let scope = if launch.pty { Scope::Session } else { Scope::Group };
    let waker = Arc::clone(output.waker());
    let started = Reaper::start(scope, waker, |registration| {
        let child = Child {
            program,
            streams: streams.theirs,
            cwd: &cwd,
            pty: launch.pty,
            credentials: identity.map(Identity::credentials),
            file_limit: launch.file_limit,
            registration,
        };
        child.start()
    });
    match started {
        Ok((group, exit)) => Ok(Spawned::Running(Process {
            group,
            exit,
            output,
            input: streams.input,
            terminal: streams.terminal,
            descriptors,
        })),
        Err(failure) => judge(launch, failure),
    }
}

/// Tells a command that can't be executed from an agent that can't start any.
fn judge(launch: &Launch, failure: Failure) -> Result<Spawned, SpawnError> {
    let errno = match failure {
        Failure::SetUp(errno) => return Err(SpawnError::set_up(errno)),
        Failure::Process(errno) => return Err(SpawnError::no_process(errno.into())),
        // The search of PATH says this also of a directory on it that can't be looked into.
        Failure::Execute(Errno::EACCES) if !launch.is_found() => Errno::ENOENT,
        Failure::Execute(errno) => errno,
    };
    let exit_code = match errno {
        Errno::EAGAIN => return Err(SpawnError::no_process(errno.into())),
        Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE => return Err(SpawnError::set_up(errno)),
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

#[cfg(test)]
mod tests {
    use sandpipe_protocol::CreateExecRequest;

    use super::*;
    use crate::process::SpawnDefaults;

    fn judged(failure: Failure) -> Option<i32> {
        let request = CreateExecRequest { command: "/x".into(), ..CreateExecRequest::default() };
        let launch = Launch::prepare(request, &SpawnDefaults::for_test()).unwrap();
        match judge(&launch, failure) {
            Ok(Spawned::CannotRun { exit_code, .. }) => Some(exit_code),
            Ok(Spawned::Running(_)) => panic!("an error is not a process"),
            Err(_) => None,
        }
    }

    #[test]
    fn a_command_that_cant_be_executed_is_a_result() {
        let executed = |errno| judged(Failure::Execute(errno));
        assert_eq!(executed(Errno::ENOENT), Some(127));
        assert_eq!(executed(Errno::ENOTDIR), Some(127));
        for errno in [
            Errno::EACCES,
            Errno::ENOEXEC,
            Errno::E2BIG,
            Errno::ELOOP,
            Errno::ENAMETOOLONG,
            Errno::EISDIR,
            Errno::ETXTBSY,
        ] {
            assert_eq!(executed(errno), Some(126));
        }
    }

    #[test]
    fn an_agent_that_cant_start_a_process_is_an_error() {
        for errno in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE] {
            assert_eq!(judged(Failure::Execute(errno)), None);
            assert_eq!(judged(Failure::SetUp(errno)), None);
        }
        assert_eq!(judged(Failure::Process(Errno::EAGAIN)), None);
        assert_eq!(judged(Failure::SetUp(Errno::EPERM)), None);
    }
}
