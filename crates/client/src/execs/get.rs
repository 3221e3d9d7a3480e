//! What the agent says of one exec.

use sandpipe_protocol::ExecItem;

use crate::agent::Agent;
use crate::error::Result;
use crate::execs::id::ExecId;
use crate::http::request::Request;
use crate::http::response::read_json;
use crate::operation::Operation;

/// What the agent says of an exec.
///
/// # Errors
/// There is none, or the agent could not be asked.
pub(crate) async fn get(agent: &Agent, id: &ExecId) -> Result<ExecItem> {
    let operation = Operation::GetExec;
    let answer = agent.http.send(&Request::get(operation, id.path(""))).await?;
    read_json(operation, &answer)
}

/// Asks once.
pub(super) async fn get_once(agent: &Agent, id: &ExecId) -> Result<ExecItem> {
    let operation = Operation::GetExec;
    let request = Request::get(operation, id.path(""));
    read_json(operation, &agent.http.send_once(&request).await?)
}
