use axum::Json;
use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec, NotJson, TooLarge},
};
use crate::http::{body::JsonBody, error::ApiError};

/// Write to an exec's standard input, or resize its terminal.
///
/// The answer comes when the process's pipe or terminal has taken all of the input.
#[utoipa::path(
    post,
    path = "/api/v1/execs/{id}/io",
    operation_id = "execExecStdin",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    request_body = ExecStdin,
    responses(
        (status = 200, description = "It was taken", body = ExecItem),
        ApiErrors, NoExec, TooLarge, NotJson, Failed,
    )
)]
pub(crate) async fn exec_exec_stdin(
    ExecPath(exec): ExecPath,
    JsonBody(stdin): JsonBody<ExecStdin>,
) -> Result<Json<ExecItem>, ApiError> {
    match stdin.kind {
        StdinType::Stdin => exec.write(stdin.input.into_bytes()).await?,
        StdinType::Resize => exec.resize_as(&stdin.input)?,
    }
    Ok(Json(exec.item()))
}
