//! Starting an exec.

use sandpipe_protocol::{ExecItem, ExecStart};

use super::get::get;
use crate::agent::Agent;
use crate::call::{Call, call};
use crate::execs::id::ExecId;
use crate::http::request::Request;
use crate::http::response::read_json;
use crate::operation::Operation;

/// Starts an exec that was created without being started.
pub fn start(agent: &Agent, id: ExecId) -> Call<ExecItem> {
    let agent = agent.clone();
    call(async move {
        let operation = Operation::StartExec;
        let request = Request::post(operation, id.path("/start"), &ExecStart {});
        let mut repeated = false;
        let attempt = async || match agent.http.send_once(&request).await {
            // The attempt before, whose answer was lost, has started it, and it has ended since.
            Err(error) if repeated && error.status() == Some(409) => get(&agent, &id).await,
            Ok(answer) => read_json(operation, &answer),
            Err(error) => {
                repeated |= error.is_ambiguous();
                Err(error)
            }
        };
        agent.http.repeat(operation, attempt).await
    })
}
