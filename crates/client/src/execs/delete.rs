//! Deleting an exec.

use crate::agent::Agent;
use crate::call::{Call, call};
use crate::execs::id::ExecId;
use crate::http::request::Request;
use crate::operation::Operation;

/// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
pub fn delete(agent: &Agent, id: &ExecId) -> Call<()> {
    let request = Request::delete(Operation::DeleteExec, id.path(""));
    let deleting = agent.http.send(request, Some(404));
    call(async { deleting.await.map(drop) })
}
