use axum::Json;
use sandpipe_protocol::ExecItem;

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, NoExec},
};

/// Get an exec.
#[utoipa::path(
    get,
    path = "/api/v1/execs/{id}",
    operation_id = "getExec",
    tag = "execs",
    params(("id" = String, Path, description = "The exec's identifier")),
    responses(
        (status = 200, description = "The exec as it is now", body = ExecItem),
        ApiErrors, NoExec,
    )
)]
pub(crate) async fn get_exec(ExecPath(exec): ExecPath) -> Json<ExecItem> {
    Json(exec.whole_item().await)
}
