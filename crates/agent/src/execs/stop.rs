use std::{sync::Arc, time::Duration};

use nix::sys::signal::Signal;
use sandpipe_protocol::ExecStatus;

use super::{
    delete::KILL_PATIENCE,
    exec::{Exec, Lifecycle},
    registry::Registry,
};

/// How long processes may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// Some processes could not be stopped.
#[derive(Debug, thiserror::Error)]
#[error("process groups that could not be stopped: {0:?}")]
pub(crate) struct Unstoppable(Vec<i32>);

impl Registry {
    /// Stops every exec: SIGTERM to its group, and SIGKILL when the grace period is over or `hurry` is
    /// done. Afterwards no process is left, every output has its end, and no reader waits.
    pub(crate) async fn stop_all(&self, hurry: impl Future) -> Result<(), Unstoppable> {
        let execs = self.refuse_new();
        for exec in &execs {
            // This also waits for a start or a delete that is under way.
            let mut lifecycle = exec.lifecycle.lock().await;
            if *lifecycle == Lifecycle::Open {
                *lifecycle = Lifecycle::Stopping;
            }
            exec.set_stopping();
            signal(exec, Signal::SIGTERM);
            if exec.description.pty {
                // An interactive shell ignores SIGTERM, and ends when its terminal goes away.
                signal(exec, Signal::SIGHUP);
            }
            // A process that is stopped, as by Ctrl+Z, takes a signal only when it goes on.
            signal(exec, Signal::SIGCONT);
        }
        let graceful = async {
            for exec in &execs {
                gone_within(exec, GRACE).await;
            }
        };
        tokio::select! {
            () = graceful => {}
            () = tokio::time::sleep(GRACE) => {}
            _ = hurry => {}
        }
        for exec in &execs {
            signal(exec, Signal::SIGKILL);
        }
        let mut left = Vec::new();
        for exec in &execs {
            if gone_within(exec, KILL_PATIENCE).await {
                ended(exec).await;
            } else {
                left.extend(exec.state().group.as_ref().map(|group| group.id().as_raw()));
            }
            exec.spool().close_if_open();
        }
        if left.is_empty() { Ok(()) } else { Err(Unstoppable(left)) }
    }
}

fn signal(exec: &Exec, signal: Signal) {
    let group = exec.state().group.clone();
    if let Some(Err(error)) = group.map(|group| group.signal(signal)) {
        tracing::warn!(%error, id = exec.id, %signal, "can't signal a process group");
    }
}

async fn gone_within(exec: &Arc<Exec>, patience: Duration) -> bool {
    let group = exec.state().group.clone();
    match group {
        Some(group) => group.gone_within(patience).await,
        None => true,
    }
}

/// Waits until the exit code of a process that is gone has reached the readers.
async fn ended(exec: &Exec) {
    let mut changes = exec.watch();
    while matches!(exec.state().status, ExecStatus::Running | ExecStatus::Stopping) {
        if changes.changed().await.is_err() {
            return;
        }
    }
}
