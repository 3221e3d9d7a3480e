use sandpipe_protocol::CreateExecRequest;

use super::create::Creation;
use super::delete::delete;
use super::output_reader::OutputReader;
use crate::error::Result;
use crate::request::{Accept, ExecId};
use crate::transport::Transport;

/// Runs a short command of the core's own and forgets it.
pub(crate) async fn errand(
    transport: &Transport,
    request: &CreateExecRequest,
) -> Result<(Option<i32>, String)> {
    let creation = Creation::prepare(transport, request, Accept::EventStream).await?;
    let created = creation.carry_out(transport).await?;
    let id = ExecId::of(created.exec)?;
    let mut output = String::new();
    let mut reader = OutputReader::of(transport.clone(), id.clone(), created.output);
    while let Some(events) = reader.read().await? {
        output.extend(events.into_iter().map(|event| event.output));
    }
    delete(transport, &id).await?;
    Ok((reader.exit_code(), output))
}
