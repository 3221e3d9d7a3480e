use std::pin::pin;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use sandpipe_protocol::CreateExecRequest;
use wasm_bindgen_futures::spawn_local;

use super::create::Creation;
use super::delete::delete;
use super::output_reader::OutputReader;
use crate::abort::Abort;
use crate::request::ExecId;
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};

/// Runs a short command of the core's own and forgets it.
///
/// It is carried out to its end whatever becomes of the call, and of the sandbox: else its exec would
/// stay with the agent.
pub(crate) async fn errand(
    transport: &Transport,
    request: &CreateExecRequest,
) -> Result<(Option<i32>, String)> {
    let cancel = transport.in_flight.begin()?;
    let mut closing = Abort::listen(cancel.signal());
    let (tell, told) = oneshot::channel();
    let (apart, request) = (transport.apart(), request.clone());
    spawn_local(async move {
        let outcome = carry_out(&apart, &request).await;
        // The call may be over.
        drop(tell.send(outcome));
    });
    match select(told, pin!(closing.aborted())).await {
        Either::Left((Ok(outcome), _)) => outcome,
        Either::Left((Err(oneshot::Canceled), _)) | Either::Right(_) => Err(Error::Closed.into()),
    }
}

async fn carry_out(
    transport: &Transport,
    request: &CreateExecRequest,
) -> Result<(Option<i32>, String)> {
    let creation = Creation::prepare(transport, request, true).await?;
    let created = creation.carry_out(transport).await?;
    let id = ExecId::of(created.exec)?;
    let reader = OutputReader::of(transport.clone(), id.clone(), created.output);
    let outcome = read(reader).await;
    // What it did and said is true all the same if its record stays.
    delete(transport, &id).await.unwrap_or_default();
    outcome
}

async fn read(mut reader: OutputReader) -> Result<(Option<i32>, String)> {
    let mut output = String::new();
    while let Some(events) = reader.read().await? {
        output.extend(events.into_iter().map(|event| event.output));
    }
    Ok((reader.exit_code(), output))
}
