use std::io;

use axum::response::Response;
use sandpipe_protocol::ExecStdout;

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, NoExec},
};
use crate::{
    http::event_stream::{self, Source},
    output::{Reader, StartAfter},
};

/// Stream an exec's output as Server-Sent Events: what there is, then what comes, up to the event with
/// the exit code.
#[utoipa::path(
    get,
    path = "/api/v1/stream/execs/{id}/io",
    operation_id = "streamExecOutput",
    tag = "execs",
    params(
        ("id" = String, Path, description = "The exec's identifier"),
        (
            "lastSequence" = Option<i64>, Query,
            description = "Only the events after this one; with -N, the last N events and what follows"
        ),
    ),
    responses(
        (
            status = 200, description = "The events", body = ExecStdout,
            content_type = "text/event-stream"
        ),
        ApiErrors, NoExec,
    )
)]
pub(crate) async fn stream_exec_output(ExecPath(exec): ExecPath, start: StartAfter) -> Response {
    event_stream::respond(Reader::follow(exec.spool(), start))
}

/// The spool holds the events as they are sent.
impl Source for Reader {
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        Reader::next(self).await
    }
}
