use axum::{
    body::{Body, Bytes},
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use sandpipe_protocol::ExecStdout;

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, NoExec},
};
use crate::output::{Frames, StartAfter};

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
        ApiErrors, NoExec,
    )
)]
pub(crate) async fn get_exec_output(ExecPath(exec): ExecPath, start: StartAfter) -> Response {
    // The place of the extension `gap`: an answer 410 where events before the first were dropped.
    let frames = Frames::snapshot(exec.spool(), start);
    let body = stream::unfold(Step::Open(frames), |step| async {
        let (mut frames, mut separator) = match step {
            Step::Open(frames) => (frames, b'['),
            Step::Going(frames) => (frames, b','),
            Step::Over => return None,
        };
        let mut json = Vec::new();
        match frames.next().await {
            Ok(Some(chunk)) => {
                for event in chunk.events() {
                    json.push(separator);
                    json.extend_from_slice(event);
                    separator = b',';
                }
                Some((Ok(Bytes::from(json)), Step::Going(frames)))
            }
            Ok(None) => {
                if separator == b'[' {
                    json.push(separator);
                }
                json.push(b']');
                Some((Ok(json.into()), Step::Over))
            }
            // The connection is cut: JSON that ends early must not look whole.
            Err(error) => {
                tracing::error!(%error, "an exec's output can't be read");
                Some((Err(error), Step::Over))
            }
        }
    });
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(body)).into_response()
}

/// How far the JSON array has come.
enum Step {
    Open(Frames),
    Going(Frames),
    Over,
}
