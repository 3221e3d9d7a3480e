use axum::{
    Json,
    extract::{FromRequest, Request, State},
};
use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec, NoMemory, NotJson, TooLarge},
};
use crate::{
    features::Feature,
    http::{
        App,
        body::{JsonBody, RawBody, is_of_type},
        error::ApiError,
    },
};

/// Write to an exec's standard input, end it, or resize its terminal.
///
/// The answer comes when the process's pipe or terminal has taken all of the input. It is delivered
/// also when the client does not wait for that. Up to 16 MiB may wait for a process that does not read.
/// To end it is the feature `stdin-eof`.
///
/// A body of `application/octet-stream` is the input itself, of any length (the feature `stdin-bytes`). It is read as the process
/// reads, and what is sent by other requests meanwhile comes after all of it. Of one that breaks off, what came is written (408). A
/// client that sends nothing for 30 s, while the process would read it, is given up (408).
#[utoipa::path(
    post,
    path = "/api/v1/execs/{id}/io",
    operation_id = "execExecStdin",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    request_body(content((ExecStdin = "application/json"), (Vec<u8> = "application/octet-stream"))),
    responses(
        (status = 200, description = "It was taken", body = ExecItem),
        (
            status = 408, description = "The body did not arrive",
            body = sandpipe_protocol::ErrorBody
        ),
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
    body: StdinBody,
) -> Result<Json<ExecItem>, ApiError> {
    let stdin = match body {
        StdinBody::Json(stdin) => stdin,
        StdinBody::Raw(body) => {
            exec.write_stream(Box::pin(body.chunks()))?.taken().await?;
            return Ok(Json(exec.whole_item().await));
        }
    };
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

/// What is sent to standard input.
pub(crate) enum StdinBody {
    Json(ExecStdin),
    Raw(RawBody),
}

impl FromRequest<App> for StdinBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let is_raw = is_of_type(request.headers(), "application/octet-stream");
        if is_raw && app.features.has(Feature::StdinBytes) {
            return Ok(Self::Raw(RawBody::new(request.into_body())));
        }
        let JsonBody(stdin) = JsonBody::from_request(request, app).await?;
        Ok(Self::Json(stdin))
    }
}
