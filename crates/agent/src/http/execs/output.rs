use std::io;

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{
        HeaderMap,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use futures_util::{Stream, stream};
use sandpipe_protocol::{ExecStdout, frame};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, Lost, NoExec},
};
use crate::{
    features::Feature,
    http::{App, error::ApiError, event_stream::NOT_CACHED, output_format::OutputFormat},
    output::{EventReader, Reader, ReaderItem, StartAfter, TextEvent},
};

/// Get the output that an exec has written up to now.
///
/// With the feature `frames` and `Accept: application/vnd.sandpipe.output` it is given in frames, as in its stream. The last frame has
/// the exit code, or is a ping where there is none yet.
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
        (
            status = 200, description = "The events up to now",
            content(
                (Vec<ExecStdout> = "application/json"),
                (Vec<u8> = "application/vnd.sandpipe.output")
            )
        ),
        ApiErrors, NoExec, Lost, Failed,
    )
)]
pub(crate) async fn get_exec_output(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
    start: StartAfter,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let sends_gaps = app.features.has(Feature::Gap);
    let spool = exec.output().await.map_err(ApiError::internal)?;
    if sends_gaps && let Some(gap) = start.first_gap(spool) {
        return Err(ApiError::lost(gap, spool.failure()));
    }
    if OutputFormat::asked_for(&app, &headers) == Some(OutputFormat::Frames) {
        let frames = FrameSnapshot { frames: Reader::snapshot(spool, start), sends_gaps };
        let headers = [(CONTENT_TYPE, frame::MEDIA_TYPE), (CACHE_CONTROL, NOT_CACHED)];
        return Ok((headers, Body::from_stream(frames.into_stream())).into_response());
    }
    let output = OutputArray { events: EventReader::snapshot(spool, start), sends_gaps };
    let body = stream::unfold(ArrayState::Open(output), |state| async {
        let (mut output, mut separator) = match state {
            ArrayState::Open(output) => (output, b'['),
            ArrayState::Going(output) => (output, b','),
            ArrayState::Over => return None,
        };
        let read = output.next(|event, json| {
            json.push(separator);
            event.write_json(json);
            separator = b',';
        });
        match read.await {
            Ok(Some(json)) => Some((Ok(json), ArrayState::Going(output))),
            Ok(None) => {
                let end: &[u8] = if separator == b'[' { b"[]" } else { b"]" };
                Some((Ok(Bytes::from_static(end)), ArrayState::Over))
            }
            // JSON that ends early must not look whole.
            Err(error) => Some((Err(cut(error)), ArrayState::Over)),
        }
    });
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, NOT_CACHED)];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// The connection is cut.
fn cut(error: io::Error) -> io::Error {
    tracing::error!(%error, "an exec's output can't be read");
    error
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
    async fn next(
        &mut self,
        mut write: impl FnMut(&TextEvent<'_>, &mut Vec<u8>),
    ) -> io::Result<Option<Bytes>> {
        while let Some(item) = self.events.next_written(&mut write).await? {
            match item {
                ReaderItem::Bytes(json) => return Ok(Some(json)),
                ReaderItem::Gap(_) => pass_over_gap(self.sends_gaps)?,
            }
        }
        Ok(None)
    }
}

struct FrameSnapshot {
    frames: Reader,
    sends_gaps: bool,
}

impl FrameSnapshot {
    fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> {
        stream::unfold(Some(self), |snapshot| async {
            let mut snapshot = snapshot?;
            match snapshot.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(snapshot))),
                // What is cut on its way must not look whole: the last frame is this one, or has the exit code.
                Ok(None) if snapshot.frames.has_exit_code() => None,
                Ok(None) => Some((Ok(OutputFormat::Frames.ping()), None)),
                Err(error) => Some((Err(cut(error)), None)),
            }
        })
    }

    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(item) = self.frames.next().await? {
            match item {
                ReaderItem::Bytes(bytes) => return Ok(Some(bytes)),
                ReaderItem::Gap(_) => pass_over_gap(self.sends_gaps)?,
            }
        }
        Ok(None)
    }
}

/// What is to be done about events that were dropped after the answer had begun.
fn pass_over_gap(sends_gaps: bool) -> io::Result<()> {
    // A client that asks again is told so; without the feature the jump in `sequence` tells it.
    if sends_gaps { Err(io::Error::other("events were dropped meanwhile")) } else { Ok(()) }
}
