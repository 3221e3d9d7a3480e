use axum::{Json, extract::State};
use sandpipe_protocol::ExecDeleteResponse;

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec},
};
use crate::http::{App, error::ApiError};

/// Kill an exec's process group, wait until it is gone, and forget the exec and its output.
#[utoipa::path(
    delete,
    path = "/api/v1/execs/{id}",
    operation_id = "deleteExec",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    responses(
        (status = 200, description = "The exec is gone", body = ExecDeleteResponse),
        ApiErrors, NoExec, Failed,
    )
)]
pub(crate) async fn delete_exec(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
) -> Result<Json<ExecDeleteResponse>, ApiError> {
    // It goes on when the client goes away.
    let delete = tokio::spawn(async move { app.registry.delete(&exec).await });
    delete.await.map_err(ApiError::internal)??;
    Ok(Json(ExecDeleteResponse { message: "the exec was deleted".into() }))
}
