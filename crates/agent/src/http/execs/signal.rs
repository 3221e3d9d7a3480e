use axum::Json;
use sandpipe_protocol::{ErrorBody, ExecItem, SignalRequest};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec, NoMemory, NotJson, TooLarge},
};
use crate::http::{body::JsonBody, error::ApiError};

/// Send a signal to an exec's whole process group. The feature `signal`.
///
/// It also reaches members that outlived the process that was started. After SIGTERM comes SIGCONT, so
/// that a stopped process can act on it.
#[utoipa::path(
    post,
    path = "/api/v1/execs/{id}/signal",
    operation_id = "signalExec",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    request_body = SignalRequest,
    responses(
        (status = 200, description = "It was sent", body = ExecItem),
        (status = 409, description = "No process of the group is left", body = ErrorBody),
        ApiErrors, NoExec, TooLarge, NotJson, Failed, NoMemory,
    )
)]
pub(crate) async fn signal_exec(
    ExecPath(exec): ExecPath,
    JsonBody(request): JsonBody<SignalRequest>,
) -> Result<Json<ExecItem>, ApiError> {
    exec.signal(&request.signal).await?;
    Ok(Json(exec.whole_item().await))
}
