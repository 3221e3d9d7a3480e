use sandpipe_protocol::CreateExecRequest;

use super::create::create;
use super::delete::delete;
use super::output_reader::OutputReader;
use crate::error::Result;
use crate::request::ExecId;
use crate::transport::Transport;

/// Runs a short command of the core's own and forgets it.
pub(crate) async fn errand(
    transport: &Transport,
    request: &CreateExecRequest,
) -> Result<(Option<i32>, String)> {
    let id = ExecId::of(create(transport, request).await?)?;
    let mut output = String::new();
    let mut reader = OutputReader::new(transport.clone(), id.clone(), 0);
    while let Some(events) = reader.read().await? {
        output.extend(events.into_iter().map(|event| event.output));
    }
    delete(transport, &id).await?;
    Ok((reader.exit_code(), output))
}
