use std::{io, sync::Arc, time::Duration};

use super::{
    exec::{Exec, Lifecycle},
    registry::Registry,
    stop_reason::StopReason,
};
use crate::blocking::{self, NotRun};
use nix::sys::signal::Signal;

/// How long a killed group may take to be gone. Only a process that the system itself holds up takes
/// noticeably long.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Why an exec was not deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeleteError {
    #[error("exec {0} has been deleted already")]
    Gone(String),
    #[error("the process group {group} of exec {id} can't be killed: {error}")]
    Kill { id: String, group: i32, error: io::Error },
    #[error(
        "the process group {group} of exec {id} was killed and is still there after {} s: \
         the system holds a process of it up, try again later",
        KILL_TIMEOUT.as_secs()
    )]
    Stuck { id: String, group: i32 },
    #[error("the agent failed while it removed the output: {0}")]
    Remove(#[from] NotRun),
}

impl Registry {
    /// Kills the exec's process group, waits until it is gone, and forgets the exec and its output.
    ///
    /// The caller lets it run to its end.
    pub(crate) async fn delete(&self, exec: &Arc<Exec>) -> Result<(), DeleteError> {
        let mut lifecycle = exec.lifecycle.lock().await;
        if *lifecycle == Lifecycle::Deleted {
            return Err(DeleteError::Gone(exec.id.clone()));
        }
        exec.set_stopping(StopReason::Client);
        exec.hold_end();
        if let Err(error) = kill(exec).await {
            // What can't be deleted keeps its output, and its readers.
            exec.release_end();
            return Err(error);
        }
        exec.spool.close();
        *lifecycle = Lifecycle::Deleted;
        exec.set_deleted();
        self.remove(exec);
        let (id, exec) = (exec.id.clone(), Arc::clone(exec));
        let remove = move || {
            let written = exec.write_removal();
            exec.remove_directory();
            // That has made room.
            written.or_else(|_| exec.write_removal())
        };
        if let Err(error) = blocking::remove(remove).await? {
            tracing::warn!(%error, id, "the key of a deleted exec is not known after a restart");
        }
        Ok(())
    }
}

/// Kills the exec's process group and waits until it is gone.
async fn kill(exec: &Exec) -> Result<(), DeleteError> {
    let group = exec.state().group.clone();
    let Some(group) = group else {
        return Ok(());
    };
    let number = group.id().as_raw();
    group.signal(&[Signal::SIGKILL]).await.map_err(|error| DeleteError::Kill {
        id: exec.id.clone(),
        group: number,
        error,
    })?;
    if group.gone_within(KILL_TIMEOUT).await {
        Ok(())
    } else {
        Err(DeleteError::Stuck { id: exec.id.clone(), group: number })
    }
}
