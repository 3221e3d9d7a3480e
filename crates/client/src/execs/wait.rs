//! Waiting for the end of an exec that exists.

use std::future::pending;

use super::exec::follow_to_end;
use super::{OutputReader, WaitOptions};
use crate::output::ExecResult;
use crate::{Agent, Call, ExecId};

/// Follows an exec that exists to its end.
pub fn wait(agent: &Agent, id: ExecId, options: WaitOptions) -> Call<ExecResult> {
    let stops = options.stop_requests(&**agent.http.host());
    let reader = OutputReader::new(agent.clone(), id, 0).in_encoding(options.encoding);
    follow_to_end(agent, reader, options, stops, Box::pin(pending()))
}
