use std::io;

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use sandpipe_protocol::ExecStdout;

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, Lost, NoExec},
};
use crate::{
    features::Feature,
    http::{
        App,
        error::{ApiError, lost},
        event_stream::NOT_CACHED,
    },
    output::{EventChunk, EventReader, NextEvents, StartAfter},
};

/// Get the output that an exec has written up to now.
#[utoipa::path(
    get,
    path = "/api/v1/execs/{id}/io",
    operation_id = "getExecOutput",
    tag = "execs",
    params(
        ("id" = String, Path, description = "The exec's identifier"),
        (
            "lastSequence" = Option<i64>, Query,
            description = "Only the events after this one; with -N, the last N events"
        ),
    ),
    responses(
        (status = 200, description = "The events up to now", body = Vec<ExecStdout>),
        ApiErrors, NoExec, Lost, Failed,
    )
)]
pub(crate) async fn get_exec_output(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
    start: StartAfter,
) -> Result<Response, ApiError> {
    let sends_gaps = app.features.has(Feature::Gap);
    let spool = exec.output().await.map_err(ApiError::internal)?;
    if sends_gaps && let Some(gap) = start.first_gap(spool) {
        return Err(ApiError::lost(gap));
    }
    let output = OutputArray { events: EventReader::snapshot(spool, start), sends_gaps };
    let body = stream::unfold(ArrayState::Open(output), |state| async {
        let (mut output, mut separator) = match state {
            ArrayState::Open(output) => (output, b'['),
            ArrayState::Going(output) => (output, b','),
            ArrayState::Over => return None,
        };
        let mut json = Vec::new();
        match output.next().await {
            Ok(Some(chunk)) => {
                for event in chunk.events() {
                    json.push(separator);
                    json.extend_from_slice(event);
                    separator = b',';
                }
                Some((Ok(Bytes::from(json)), ArrayState::Going(output)))
            }
            Ok(None) => {
                if separator == b'[' {
                    json.push(separator);
                }
                json.push(b']');
                Some((Ok(json.into()), ArrayState::Over))
            }
            // The connection is cut: JSON that ends early must not look whole.
            Err(error) => {
                tracing::error!(%error, "an exec's output can't be read");
                Some((Err(error), ArrayState::Over))
            }
        }
    });
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, NOT_CACHED)];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// How far the JSON array has come.
enum ArrayState {
    Open(OutputArray),
    Going(OutputArray),
    Over,
}

struct OutputArray {
    events: EventReader,
    sends_gaps: bool,
}

impl OutputArray {
    async fn next(&mut self) -> io::Result<Option<EventChunk>> {
        while let Some(next) = self.events.next().await? {
            match next {
                NextEvents::Events(chunk) => return Ok(Some(chunk)),
                // They were dropped after the answer had begun. A client that asks again is told so.
                NextEvents::Gap(gap) if self.sends_gaps => return Err(io::Error::other(lost(gap))),
                // The jump in `sequence` tells it.
                NextEvents::Gap(_) => {}
            }
        }
        Ok(None)
    }
}
