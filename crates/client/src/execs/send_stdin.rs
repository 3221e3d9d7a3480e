//! Input for an exec.

use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};

use crate::agent::Agent;
use crate::error::{Error, Result};
use crate::execs::id::ExecId;
use crate::features::Feature;
use crate::http::request::Request;
use crate::http::response::read_json;
use crate::operation::Operation;

/// Writes to a running exec's standard input, or sets the size of its terminal.
///
/// # Errors
/// The agent refused it; or whether it arrived is not known.
pub(crate) async fn send_stdin(agent: &Agent, id: &ExecId, body: &ExecStdin) -> Result<ExecItem> {
    let operation = Operation::SendStdin;
    let feature = Feature::StdinEof;
    if body.kind == StdinType::Eof && !agent.offers(feature).await? {
        return Err(Error::Unsupported { feature: feature.name(), what: "the end of stdin" }.into());
    }
    let mut request = Request::post(operation, id.path("/io"), body);
    request.may_wait = true;
    // Not repeated: the process could read it twice.
    read_json(operation, &agent.http.send_once(&request).await?)
}
