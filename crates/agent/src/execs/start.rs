use std::sync::Arc;

use sandpipe_protocol::{ExecStatus, OutputType, TerminalSize};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{
    exec::{Exec, Lifecycle},
    input::Input,
    run::run,
};
use crate::{
    output::Collector,
    process::{Process, SpawnError, Spawned, spawn},
};

/// The size of a terminal that nobody has resized yet.
const DEFAULT_SIZE: TerminalSize = TerminalSize { cols: 80, rows: 24 };

/// How many processes are started at once. A start that the file system holds up takes a thread of those
/// that output is written by, too: 512, tokio's default.
static STARTS: Semaphore = Semaphore::const_new(128);

/// Why an exec was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("exec {id} can't be started: it is {status:?}, and only a created one can be")]
    NotStartable { id: String, status: ExecStatus },
    #[error("exec {0} has been deleted")]
    Deleted(String),
    #[error("the agent is stopping and starts no more execs")]
    Stopping,
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("the agent failed while it started the process: {0}")]
    Join(#[from] tokio::task::JoinError),
}

/// Starts an exec that waits for it; one that runs is left alone.
///
/// The caller lets it run to its end: half of it would be a process that nobody knows of.
pub(crate) async fn start(exec: &Arc<Exec>) -> Result<(), StartError> {
    // Before the lock, so that what waits for its turn can be deleted.
    let turn = STARTS.acquire().await;
    let lifecycle = exec.lifecycle.lock().await;
    let (state, exec) = (*lifecycle, Arc::clone(exec));
    let started = spawn_blocking(move || start_held(&exec, state)).await?;
    drop(turn);
    started
}

/// Starts an exec that nobody else knows yet, on this thread; `None` where it has to wait for its turn. It
/// may block.
pub(super) fn start_at_once(exec: &Arc<Exec>) -> Option<Result<(), StartError>> {
    let _turn = STARTS.try_acquire().ok()?;
    let lifecycle = exec.lifecycle.try_lock().ok()?;
    Some(start_held(exec, *lifecycle))
}

/// Starts an exec whose turn it is, while its lifecycle is held. It may block.
fn start_held(exec: &Arc<Exec>, lifecycle: Lifecycle) -> Result<(), StartError> {
    match lifecycle {
        Lifecycle::Open => {}
        Lifecycle::Stopping => return Err(StartError::Stopping),
        Lifecycle::Deleted => return Err(StartError::Deleted(exec.id.clone())),
    }
    match exec.state().status.clone() {
        ExecStatus::Created => {}
        ExecStatus::Running => return Ok(()),
        status => {
            return Err(StartError::NotStartable { id: exec.id.clone(), status });
        }
    }

    let launch = exec.state().launch.clone();
    let Some(launch) = launch else {
        let status = exec.state().status.clone();
        return Err(StartError::NotStartable { id: exec.id.clone(), status });
    };
    let size = exec.state().size.unwrap_or(DEFAULT_SIZE);
    match spawn(&launch, size)? {
        Spawned::Running(process) => {
            let output = set_running(exec, process);
            // An agent that starts later is to know the process id too. Before it can end: its end is
            // written after it.
            exec.write_record();
            tokio::spawn(output);
        }
        Spawned::CannotRun { exit_code, reason } => {
            let mut collector = Collector::new(Arc::clone(&exec.spool));
            collector.push(OutputType::Stderr, reason.as_bytes());
            exec.end(exit_code);
        }
    }
    Ok(())
}

/// Gives what sees the process through.
fn set_running(exec: &Arc<Exec>, process: Process) -> impl Future<Output = ()> + use<> {
    let Process { group, exit, output, input, terminal } = process;
    let (ended, watch_end) = tokio::sync::oneshot::channel::<()>();
    let input = input.and_then(|fd| {
        Input::open(fd, watch_end, Arc::clone(&exec.input_ended))
            .inspect_err(|error| tracing::error!(%error, id = exec.id, "standard input is closed"))
            .ok()
    });
    let mut state = exec.state();
    state.status = ExecStatus::Running;
    state.launch = None;
    state.pid = group.id().as_raw().unsigned_abs();
    state.group = Some(group);
    state.input = input;
    // It may have come while the process was being started.
    let resized =
        terminal.as_ref().zip(state.size.take()).map(|(terminal, size)| terminal.resize(size));
    if let Some(Err(error)) = resized {
        tracing::warn!(%error, id = exec.id, "the terminal can't be resized");
    }
    state.terminal = terminal;
    drop(state);
    exec.changed();
    run(Arc::clone(exec), output, exit, ended)
}
