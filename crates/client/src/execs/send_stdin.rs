//! Input for an exec.

use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};

use crate::http::Request;
use crate::{Agent, Call, Error, ExecId, Feature, Operation};

/// Writes to a running exec's standard input, or sets the size of its terminal.
pub fn send_stdin(agent: &Agent, id: &ExecId, body: &ExecStdin) -> Call<ExecItem> {
    let mut request = Request::post(Operation::SendStdin, id.path("/io"), body);
    // Not repeated: the process could read it twice.
    (request.may_wait, request.once) = (true, true);
    let sending = agent.http.ask(request);
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
