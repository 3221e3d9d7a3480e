use axum::{Json, extract::State};
use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec, NoMemory, NotJson, TooLarge},
};
use crate::{
    features::Feature,
    http::{App, body::JsonBody, error::ApiError},
};

/// Write to an exec's standard input, end it, or resize its terminal.
///
/// The answer comes when the process's pipe or terminal has taken all of the input. It is delivered
/// also when the client does not wait for that. Up to 16 MiB may wait for a process that does not read.
/// To end it is the feature `stdin-eof`.
#[utoipa::path(
    post,
    path = "/api/v1/execs/{id}/io",
    operation_id = "execExecStdin",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    request_body = ExecStdin,
    responses(
        (status = 200, description = "It was taken", body = ExecItem),
        (
            status = 429, description = "Too much input waits for the process already",
            body = sandpipe_protocol::ErrorBody
        ),
        ApiErrors, NoExec, TooLarge, NotJson, Failed, NoMemory,
    )
)]
pub(crate) async fn exec_exec_stdin(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
    JsonBody(stdin): JsonBody<ExecStdin>,
) -> Result<Json<ExecItem>, ApiError> {
    match stdin.kind {
        StdinType::Stdin => exec.write(stdin.input.into_bytes())?.taken().await?,
        StdinType::Resize => exec.resize_as(&stdin.input)?,
        StdinType::Eof if !app.features.has(Feature::StdinEof) => {
            return Err(ApiError::bad_request(
                "the type \"eof\" is not one of those that this agent knows: stdin and resize",
            ));
        }
        StdinType::Eof if !stdin.input.is_empty() => {
            return Err(ApiError::bad_request(
                "an end of standard input has no \"input\": send that as \"stdin\" before",
            ));
        }
        StdinType::Eof => exec.end_input().await?,
    }
    Ok(Json(exec.whole_item().await))
}
