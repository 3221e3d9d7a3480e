use axum::{Json, extract::State};
use sandpipe_protocol::ExecListResponse;

use super::responses::ApiErrors;
use crate::http::App;

/// List all execs, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/execs",
    operation_id = "listExecs",
    tag = "execs",
    responses(
        (status = 200, description = "All execs", body = ExecListResponse),
        ApiErrors,
    )
)]
pub(crate) async fn list_execs(State(app): State<App>) -> Json<ExecListResponse> {
    Json(app.registry.list())
}
