use std::{sync::Arc, time::Duration};

use nix::sys::signal::Signal;
use sandpipe_protocol::ExecStatus;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    delete::KILL_TIMEOUT,
    exec::{Exec, Lifecycle},
    registry::Registry,
    stop_reason::StopReason,
};

/// Some processes could not be stopped.
#[derive(Debug, thiserror::Error)]
#[error("process groups that could not be stopped: {0:?}")]
pub(crate) struct StopError(Vec<i32>);

impl Registry {
    /// Stops every exec: SIGTERM to its group, and SIGKILL when the grace period is over or `forced` is
    /// done. Afterwards no process is left, every output has its end, and no reader waits.
    pub(crate) async fn stop_all(
        &self,
        grace_period: Duration,
        forced: impl Future,
    ) -> Result<(), StopError> {
        let mut execs = self.refuse_new();
        // There may be very many that ended long ago.
        execs.retain(|exec| !exec.has_ended() || !is_known_gone(exec));
        let graceful = each(&execs, move |exec| async move {
            let had_group = exec.state().group.is_some();
            end(&exec).await;
            close(&exec).await;
            // It was being started.
            if !had_group {
                end(&exec).await;
            }
            gone_within(&exec, grace_period).await
        });
        tokio::select! {
            _ = graceful => {}
            () = sleep(grace_period) => {}
            _ = forced => {}
        }
        let gone = each(&execs, |exec| async move {
            let gone = timeout(KILL_TIMEOUT, async {
                signal(&exec, &[Signal::SIGKILL]).await;
                close(&exec).await;
                signal(&exec, &[Signal::SIGKILL]).await;
                let gone = gone_within(&exec, KILL_TIMEOUT).await;
                ended(&exec).await;
                gone
            });
            let gone = gone.await.unwrap_or_else(|_| is_known_gone(&exec));
            exec.spool().close_if_open();
            gone
        });
        let gone = gone.await;
        let left: Vec<_> = execs
            .iter()
            .zip(gone)
            .filter(|(_, gone)| !gone)
            .filter_map(|(exec, _)| Some(exec.state().group.as_ref()?.id().as_raw()))
            .collect();
        if left.is_empty() { Ok(()) } else { Err(StopError(left)) }
    }
}

/// Does the same to every exec, to all at once. An exec for which it fails counts as not done.
async fn each<F>(execs: &[Arc<Exec>], step: impl Fn(Arc<Exec>) -> F) -> Vec<bool>
where
    F: Future<Output = bool> + Send + 'static,
{
    let mut steps = JoinSet::new();
    let mut done = vec![false; execs.len()];
    for (index, exec) in execs.iter().enumerate() {
        let step = step(Arc::clone(exec));
        steps.spawn(async move { (index, step.await) });
    }
    while let Some(result) = steps.join_next().await {
        if let Ok((index, true)) = result
            && let Some(done) = done.get_mut(index)
        {
            *done = true;
        }
    }
    done
}

/// Lets no start begin any more, and waits for a start or a delete that is under way.
async fn close(exec: &Exec) {
    let mut lifecycle = exec.lifecycle.lock().await;
    if *lifecycle == Lifecycle::Open {
        *lifecycle = Lifecycle::Stopping;
    }
}

/// Asks the processes to end.
async fn end(exec: &Exec) {
    exec.set_stopping(StopReason::Agent);
    // A process that is stopped, as by Ctrl+Z, takes a signal only when it goes on.
    let signals: &[_] = if exec.description.pty {
        // An interactive shell ignores SIGTERM, and ends when its terminal goes away.
        &[Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCONT]
    } else {
        &[Signal::SIGTERM, Signal::SIGCONT]
    };
    signal(exec, signals).await;
}

async fn signal(exec: &Exec, signals: &'static [Signal]) {
    let group = exec.state().group.clone();
    let Some(group) = group else {
        return;
    };
    if let Err(error) = group.signal(signals).await {
        tracing::warn!(%error, id = exec.id, ?signals, "can't signal a process group");
    }
}

async fn gone_within(exec: &Exec, limit: Duration) -> bool {
    let group = exec.state().group.clone();
    match group {
        Some(group) => group.gone_within(limit).await,
        None => true,
    }
}

fn is_known_gone(exec: &Exec) -> bool {
    let group = exec.state().group.clone();
    group.is_none_or(|group| group.is_gone())
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

#[cfg(test)]
mod tests {
    use std::future::ready;

    use sandpipe_protocol::CreateExecRequest;

    use super::*;
    use crate::{process::Launch, state_dir::Keep};

    #[tokio::test]
    async fn a_start_that_hangs_does_not_hold_up_the_end() {
        let registry = Registry::for_test("/nowhere".as_ref(), Keep::Nothing);
        let [hanging, other] = ["hanging", "other"].map(|id| {
            let request =
                CreateExecRequest { command: "true".into(), ..CreateExecRequest::default() };
            let launch = Launch::prepare(request, registry.spawn_defaults()).unwrap();
            registry
                .insert(|number| Exec::new(id.into(), number, launch, None, registry.context()))
                .unwrap()
        });
        // As a start that is under way holds it.
        let held = hanging.lifecycle.lock().await;
        let stop = registry.stop_all(Duration::from_mins(10), ready(()));
        let stopped = timeout(Duration::from_mins(1), stop).await;
        assert!(stopped.expect("it waits for ever").is_ok());
        assert_eq!(*other.lifecycle.lock().await, Lifecycle::Stopping);
        drop(held);
    }
}
