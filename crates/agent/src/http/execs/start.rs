use axum::Json;
use sandpipe_protocol::{ExecItem, ExecStart};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec, Stopping, TooLarge},
};
use crate::{
    execs,
    http::{body::OptionalJsonBody, error::ApiError},
};

/// Start an exec that was created without being started. One that runs is left alone.
#[utoipa::path(
    post,
    path = "/api/v1/execs/{id}/start",
    operation_id = "startExec",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    request_body(content = Option<ExecStart>, description = "Reserved"),
    responses(
        (status = 200, description = "The exec was started, or runs already", body = ExecItem),
        (status = 409, description = "It has run already", body = sandpipe_protocol::ErrorBody),
        ApiErrors, NoExec, TooLarge, Failed, Stopping,
    )
)]
pub(crate) async fn start_exec(
    ExecPath(exec): ExecPath,
    OptionalJsonBody(_options): OptionalJsonBody<ExecStart>,
) -> Result<Json<ExecItem>, ApiError> {
    // A client that goes away drops this future: half a start would be a process that nobody knows.
    let start = tokio::spawn(async move {
        execs::start(&exec).await?;
        Ok::<_, ApiError>(exec.whole_item().await)
    });
    let item = start.await.map_err(ApiError::internal)??;
    Ok(Json(item))
}
