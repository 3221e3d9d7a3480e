//! Input for an exec.

use std::rc::Rc;

use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};

use crate::http::Request;
use crate::{Agent, Call, Error, ExecId, Feature, Operation};

/// Writes to a running exec's standard input, or sets the size of its terminal.
pub fn send_stdin(agent: &Agent, id: &ExecId, body: &ExecStdin) -> Call<ExecItem> {
    let sending = send(agent, Request::post(Operation::SendStdin, id.path("/io"), body));
    if body.kind != StdinType::Eof {
        return sending;
    }
    let agent = agent.clone();
    Box::pin(async move {
        let feature = Feature::StdinEof;
        if !agent.offers(feature).await? {
            let what = "the end of stdin";
            return Err(Error::Unsupported { feature: feature.name(), what }.into());
        }
        sending.await
    })
}

/// Writes bytes to a running exec's standard input: the extension `stdin-bytes`.
pub(super) fn send_bytes(agent: &Agent, id: &ExecId, bytes: Rc<[u8]>) -> Call<ExecItem> {
    send(agent, Request::post_bytes(Operation::SendStdin, id.path("/io"), bytes))
}

fn send(agent: &Agent, mut request: Request) -> Call<ExecItem> {
    // Not repeated: the process could read it twice.
    (request.may_wait, request.once) = (true, true);
    agent.http.ask(request)
}
