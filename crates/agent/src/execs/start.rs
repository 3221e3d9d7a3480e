use std::sync::Arc;

use sandpipe_protocol::{ExecStatus, OutputType};
use tokio::task::spawn_blocking;

use super::{
    exec::{Exec, Lifecycle},
    input::Input,
    run::run,
};
use crate::{
    output::Collector,
    process::{Process, SpawnError, Spawned, spawn},
};

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
    let lifecycle = exec.lifecycle.lock().await;
    match *lifecycle {
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

    let Some(launch) = exec.launch.clone() else {
        let status = exec.state().status.clone();
        return Err(StartError::NotStartable { id: exec.id.clone(), status });
    };
    match spawn_blocking(move || spawn(&launch)).await?? {
        Spawned::Running(process) => {
            let output = set_running(exec, process);
            // An agent that starts later is to know the process id too. Before it can end: its end is
            // written after it.
            let written = Arc::clone(exec);
            spawn_blocking(move || written.write_record()).await?;
            tokio::spawn(output);
        }
        Spawned::CannotRun { exit_code, reason } => {
            let exec = Arc::clone(exec);
            spawn_blocking(move || {
                let mut collector = Collector::new(Arc::clone(&exec.spool));
                collector.push(OutputType::Stderr, reason.as_bytes());
                exec.end(exit_code);
            })
            .await?;
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
    state.pid = group.id().as_raw().unsigned_abs();
    state.group = Some(group);
    state.input = input;
    state.terminal = terminal;
    drop(state);
    exec.changed();
    run(Arc::clone(exec), output, exit, ended)
}
