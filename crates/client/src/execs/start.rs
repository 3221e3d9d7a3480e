//! Starting an exec.

use sandpipe_protocol::{ExecItem, ExecStart};

use super::get;
use crate::http::{Request, read_json};
use crate::{Agent, Call, ExecId, Operation};

const OPERATION: Operation = Operation::StartExec;

/// Starts an exec that was created without being started.
pub fn start(agent: &Agent, id: ExecId) -> Call<ExecItem> {
    let agent = agent.clone();
    let request = Request::post(OPERATION, id.path("/start"), &ExecStart {});
    Box::pin(async move {
        match agent.http.send(request, Some(409)).await? {
            Some(answer) => read_json(OPERATION, &answer),
            // It has ended since it was started.
            None => get(&agent, &id).await,
        }
    })
}
