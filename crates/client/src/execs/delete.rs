//! Deleting an exec.

use crate::http::Request;
use crate::{Agent, Call, ExecId, Operation};

/// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
pub fn delete(agent: &Agent, id: &ExecId) -> Call<()> {
    let request = Request::delete(Operation::DeleteExec, id.path(""));
    let deleting = agent.http.send(request, Some(404));
    Box::pin(async { deleting.await.map(drop) })
}
