//! Deleting an exec.

use crate::agent::Agent;
use crate::call::{Call, call};
use crate::execs::id::ExecId;
use crate::http::request::Request;
use crate::operation::Operation;

/// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
pub fn delete(agent: &Agent, id: &ExecId) -> Call<()> {
    let request = Request::delete(Operation::DeleteExec, id.path(""));
    let http = agent.http.clone();
    call(async move {
        let mut repeated = false;
        let attempt = async || match http.send_once(&request).await {
            Ok(_) => Ok(()),
            // The attempt before, whose answer was lost, has done it.
            Err(error) if repeated && error.status() == Some(404) => Ok(()),
            Err(error) => {
                repeated |= error.is_ambiguous();
                Err(error)
            }
        };
        http.repeat(request.operation, attempt).await
    })
}
