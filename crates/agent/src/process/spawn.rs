use std::{
    ffi::{CString, NulError},
    io, mem,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    sync::Arc,
};

use nix::{errno::Errno, sys::signal::Signal};
use sandpipe_protocol::TerminalSize;
use tokio::sync::oneshot;

use super::{
    exit::ExitSender,
    launch::{InvalidLaunch, Launch},
    limits::{DescriptorPermit, TooManyDescriptors},
    output_pipes::OutputPipes,
    stdio::{PtyMaster, Streams},
    user::Identity,
};
use crate::{
    limits::ExecGroup,
    sandbox::{ExecKey, Failure, Group, NotStarted, Program, StartRequest, Started, Stdio, Step},
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
    /// The cgroup with its limits.
    pub(crate) limit_group: Option<ExecGroup>,
}

/// What became of a command. That it can't be executed is a result like another.
#[derive(Debug)]
pub(crate) enum Spawned {
    Running(Box<Process>),
    /// 127 where there is no such command, 126 where it can't be executed (POSIX, Shell Command
    /// Language, 2.8.2).
    CannotRun {
        exit_code: i32,
        reason: String,
    },
    /// It may have run, and nothing of it is left; nobody knows how it would have ended.
    OutcomeUnknown,
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
    #[error("the process that runs the commands can't be started: {0}")]
    NoBox(io::Error),
    #[error("the system refuses {what}: {error}; stop some commands, or raise its limit ({limit})")]
    NoRoom { what: &'static str, limit: &'static str, error: io::Error },
    #[error(
        "limits.processes of the policy is reached: all commands together have {0} processes, and this one would be one more; stop some"
    )]
    LimitOfProcesses(u64),
}

impl SpawnError {
    /// The system has no room for one more process or thread.
    pub(crate) fn no_process(error: io::Error) -> Self {
        Self::NoRoom { what: "another process", limit: "ulimit -u, pids.max", error }
    }

    /// There is no box, and none can be started.
    fn no_box(error: io::Error) -> Self {
        let errno = error.raw_os_error().map(Errno::from_raw);
        let is_limit =
            matches!(errno, Some(Errno::EAGAIN | Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM));
        if is_limit { Self::set_up(error) } else { Self::NoBox(error) }
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

/// Starts a command; its terminal, if it is to have one, has its size of the launch unless it was
/// resized. It blocks until the command is executed or has failed to be.
pub(crate) fn spawn(
    launch: &Launch,
    resized: Option<TerminalSize>,
    descriptors: DescriptorPermit,
) -> Result<Spawned, SpawnError> {
    launch.check_cwd()?;
    let request = start_request(launch, resized)?;
    let mut output = OutputPipes::new().map_err(SpawnError::set_up)?;
    let (streams, mut pipes) = match request.stdio {
        Stdio::Pipes => {
            let (mut streams, pipes) = Streams::open_pipes(launch).map_err(SpawnError::set_up)?;
            output.watch(mem::take(&mut streams.sources)).map_err(SpawnError::set_up)?;
            (Some(streams), pipes)
        }
        Stdio::Terminal { .. } => (None, Vec::new()),
    };
    let limit_group = match &launch.limit_group {
        Some(group) => {
            let (group, directory) = group.start_exec().map_err(SpawnError::set_up)?;
            pipes.push(directory);
            Some(group)
        }
        None => None,
    };
    let (exited, exit) = ExitSender::new(Arc::clone(output.waker()));
    let on_exit = Box::new(move |code| exited.send(code));
    let (group, terminal) = match launch.process_box.start(request, pipes, on_exit) {
        Ok(Started { group, terminal }) => (group, terminal),
        Err(NotStarted::Failed(failure)) => return judge(launch, failure),
        Err(NotStarted::NoBox(error)) => return Err(SpawnError::no_box(error)),
        Err(NotStarted::OutcomeUnknown) => return Ok(Spawned::OutcomeUnknown),
    };
    let streams = streams.map_or_else(|| open_terminal(terminal, launch, &mut output), Ok);
    match streams {
        Ok(Streams { input, terminal, .. }) => Ok(Spawned::Running(Box::new(Process {
            group,
            exit,
            output,
            input,
            terminal,
            descriptors,
            limit_group,
        }))),
        Err(error) => {
            tracing::error!(%error, "a process that was started can't be observed, and is killed");
            drop(group.signal(&[Signal::SIGKILL]));
            Ok(Spawned::OutcomeUnknown)
        }
    }
}

fn open_terminal(
    master: Option<OwnedFd>,
    launch: &Launch,
    output: &mut OutputPipes,
) -> io::Result<Streams> {
    let master = master.ok_or_else(|| io::Error::other("the terminal did not come"))?;
    let mut streams = Streams::of_terminal(master, launch)?;
    output.watch(mem::take(&mut streams.sources))?;
    Ok(streams)
}

fn start_request(
    launch: &Launch,
    resized: Option<TerminalSize>,
) -> Result<StartRequest, SpawnError> {
    // It was found fit to be started, which a NUL is not.
    let nul = |error: NulError| SpawnError::SetUp(error.into());
    let args = [&launch.command].into_iter().chain(&launch.args);
    let args = args.map(|arg| CString::new(arg.as_str())).collect::<Result<_, _>>();
    let env = launch
        .env
        .iter()
        .map(|(name, value)| CString::new([name.as_bytes(), value.as_bytes()].join(&b'=')));
    Ok(StartRequest {
        key: ExecKey::default(),
        program: Program::Command {
            args: args.map_err(nul)?,
            env: env.collect::<Result<_, _>>().map_err(nul)?,
        },
        cwd: CString::new(launch.cwd.as_os_str().as_bytes()).map_err(nul)?,
        stdio: match launch.terminal {
            Some(size) => {
                let TerminalSize { cols, rows } = resized.unwrap_or(size);
                Stdio::Terminal { cols, rows, at_end: !launch.interactive }
            }
            None => Stdio::Pipes,
        },
        credentials: launch.identity.as_ref().and_then(Identity::credentials_to_take),
        file_limits: launch.file_limit.of_commands(),
        contain: launch.contain,
        cgroup: launch.limit_group.is_some(),
    })
}

/// Tells a command that can't be executed from an agent that can't start any.
fn judge(launch: &Launch, failure: Failure) -> Result<Spawned, SpawnError> {
    let errno = Errno::from_raw(failure.errno);
    match failure.step {
        Step::SetUp => return Err(SpawnError::set_up(errno)),
        Step::Process => {
            let limit = launch.limit_group.as_ref().and_then(|group| group.full_of_processes());
            return Err(limit.map_or_else(
                || SpawnError::no_process(errno.into()),
                SpawnError::LimitOfProcesses,
            ));
        }
        Step::Directory => {
            return Err(InvalidLaunch::Cwd { path: launch.cwd.clone(), errno }.into());
        }
        Step::Execute => {}
    }
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

    fn judged(step: Step, errno: Errno) -> Option<i32> {
        let request = CreateExecRequest { command: "/x".into(), ..CreateExecRequest::default() };
        let launch = Launch::prepare(request, &SpawnDefaults::for_test()).unwrap();
        match judge(&launch, Failure { step, errno: errno as i32 }) {
            Ok(Spawned::CannotRun { exit_code, .. }) => Some(exit_code),
            Ok(_) => panic!("an error is not a process"),
            Err(_) => None,
        }
    }

    #[test]
    fn a_command_that_cant_be_executed_is_a_result() {
        let executed = |errno| judged(Step::Execute, errno);
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
            assert_eq!(judged(Step::Execute, errno), None);
            assert_eq!(judged(Step::SetUp, errno), None);
        }
        assert_eq!(judged(Step::Process, Errno::EAGAIN), None);
        assert_eq!(judged(Step::SetUp, Errno::EPERM), None);
    }
}
