use std::io;

use axum::{body::Bytes, extract::State, response::Response};
use sandpipe_protocol::{ExecStdout, sse::encode_event};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec},
};
use crate::{
    execs::Exec,
    features::Feature,
    http::{
        App,
        error::ApiError,
        event_stream::{self, Source},
    },
    output::{Reader, ReaderItem, StartAfter},
};

/// Stream an exec's output as Server-Sent Events: what there is, then what comes, up to the event with
/// the exit code.
///
/// With the feature `gap`, an event named `gap` stands for events that were dropped: its data is
/// `{"from": N, "to": M}`, the numbers of the first and the last of them.
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
        ApiErrors, NoExec, Failed,
    )
)]
pub(crate) async fn stream_exec_output(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
    start: StartAfter,
) -> Result<Response, ApiError> {
    Ok(event_stream::respond(OutputStream::of(&app, &exec, start).await?))
}

/// The events of one exec's output.
pub(super) struct OutputStream {
    reader: Reader,
    sends_gaps: bool,
}

impl OutputStream {
    pub(super) async fn of(app: &App, exec: &Exec, start: StartAfter) -> Result<Self, ApiError> {
        let spool = exec.output().await.map_err(ApiError::internal)?;
        let reader = Reader::follow(spool, start);
        Ok(Self { reader, sends_gaps: app.features.has(Feature::Gap) })
    }
}

impl Source for OutputStream {
    /// The spool holds the events as they are sent.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(item) = self.reader.next().await? {
            match item {
                ReaderItem::Bytes(bytes) => return Ok(Some(bytes)),
                ReaderItem::Gap(gap) if self.sends_gaps => {
                    let mut event = Vec::new();
                    encode_event(&mut event, "gap", &serde_json::to_string(&gap)?);
                    return Ok(Some(event.into()));
                }
                // The jump in `sequence` tells it.
                ReaderItem::Gap(_) => {}
            }
        }
        Ok(None)
    }
}
