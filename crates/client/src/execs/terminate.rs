//! Stopping an exec.

use std::pin::pin;

use sandpipe_protocol::json_object;

use super::stop::stop;
use super::{OutputReader, ProcessGroup, StopRequests, Trigger};
use crate::error::NotStopped;
use crate::{AbortSignal, Agent, Call, Error, ExecId, Result};

/// How to stop an exec.
#[derive(Clone)]
pub struct TerminateOptions {
    /// How long it may take to end after SIGTERM, in milliseconds.
    pub grace_ms: f64,
    /// Aborted: it is killed.
    pub force_signal: Option<AbortSignal>,
}

/// How a stopped command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct TerminateResult {
    /// The process's own exit code, 128 + N after death by signal N.
    pub exit_code: i32,
    /// Whether it took SIGKILL.
    pub forced: bool,
}

json_object!(ToJson for TerminateResult { exit_code: "exitCode", forced: "forced" });

/// Stops an exec's process group and waits until it is gone.
pub fn terminate(agent: &Agent, id: ExecId, options: TerminateOptions) -> Call<TerminateResult> {
    let agent = agent.clone();
    Box::pin(async move { stop_and_drain(&agent, &id, options).await })
}

async fn stop_and_drain(
    agent: &Agent,
    id: &ExecId,
    TerminateOptions { grace_ms, force_signal }: TerminateOptions,
) -> Result<TerminateResult> {
    let requests = &mut StopRequests::new(None, force_signal, None, &**agent.http.host());
    let target = ProcessGroup::new(id);
    // The newest event and what follows: the exit code is in the last one.
    let mut reader = OutputReader::new(agent.clone(), id.clone(), -1);
    let mut drained = Ok(());
    let first = requests.already_requested().map_or(Trigger::Stop, |request| request.trigger);
    let outcome = {
        let ended = pin!(async { drained = reader.drain().await });
        stop(agent, &target, first, grace_ms, requests, ended).await
    };
    match outcome.unstopped {
        Some(NotStopped::Undelivered(error)) => return Err(error),
        Some(NotStopped::StillThere) => {
            return Err(Error::StillThere(id.as_str().to_owned()).into());
        }
        None if outcome.never_ran => return Err(target.gone()),
        None => {}
    }
    if let Err(lost) = drained {
        if !matches!(*lost, Error::ExitCodeMissing { .. }) {
            return Err(lost);
        }
        // The agent may have been away for longer than a stream is asked for. It is there again: it said
        // that nothing is left.
        reader = OutputReader::new(agent.clone(), id.clone(), -1);
        reader.drain().await.map_err(|_| lost)?;
    }
    let exit_code = reader.exit_code().ok_or_else(|| reader.exit_code_missing(None))?;
    Ok(TerminateResult { exit_code, forced: outcome.forced })
}
