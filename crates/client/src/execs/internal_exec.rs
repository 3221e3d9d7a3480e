//! Short commands of the client's own.

use std::pin::pin;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use sandpipe_protocol::CreateExecRequest;

use super::create::Creation;
use super::{OutputReader, delete};
use crate::{Agent, Error, ExecId, Result};

/// Runs a short command of the core's own and forgets it.
///
/// It is carried out to its end whatever becomes of the call, and of the sandbox: else its exec would
/// stay with the agent.
pub(crate) async fn run_internal(
    agent: &Agent,
    request: &CreateExecRequest,
) -> Result<(Option<i32>, String)> {
    if agent.http.is_closed() {
        return Err(Error::Closed.into());
    }
    let (sender, receiver) = oneshot::channel();
    let (detached, request) = (agent.detached(), request.clone());
    agent.http.host().spawn(Box::pin(async move {
        let outcome = carry_out(&detached, &request).await;
        // The call may be over.
        drop(sender.send(outcome));
    }));
    match select(receiver, pin!(agent.http.scope.aborted())).await {
        Either::Left((Ok(outcome), _)) => outcome,
        Either::Left((Err(oneshot::Canceled), _)) | Either::Right(_) => Err(Error::Closed.into()),
    }
}

async fn carry_out(agent: &Agent, request: &CreateExecRequest) -> Result<(Option<i32>, String)> {
    let creation = Creation::prepare(agent, request, true).await?;
    let created = creation.send(agent).await?;
    let id = ExecId::of(created.exec)?;
    let reader = OutputReader::of(agent.clone(), id.clone(), created.output);
    let outcome = read(reader).await;
    // What it did and said is true all the same if its record stays.
    delete(agent, &id).await.unwrap_or_default();
    outcome
}

async fn read(mut reader: OutputReader) -> Result<(Option<i32>, String)> {
    let mut output = String::new();
    while let Some(events) = reader.read().await? {
        output.extend(events.into_iter().map(|event| event.output));
    }
    Ok((reader.exit_code(), output))
}
