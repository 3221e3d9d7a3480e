//! What the agent says of one exec.

use sandpipe_protocol::ExecItem;

use crate::http::Request;
use crate::{Agent, Call, ExecId, Operation};

/// What the agent says of an exec.
pub fn get(agent: &Agent, id: &ExecId) -> Call<ExecItem> {
    agent.http.ask(request(id))
}

/// The same, asked once.
pub(super) fn get_once(agent: &Agent, id: &ExecId) -> Call<ExecItem> {
    agent.http.ask(Request { once: true, ..request(id) })
}

fn request(id: &ExecId) -> Request {
    Request::get(Operation::GetExec, id.path(""))
}
