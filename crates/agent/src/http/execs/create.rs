use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use sandpipe_protocol::{CreateExecRequest, ExecItem};

use super::responses::{ApiErrors, Failed, NotJson, Stopping, TooLarge};
use crate::http::{App, body::JsonBody, error::ApiError};

/// Create an exec, and start it unless `autostart` is false.
///
/// A command that does not exist or can't be executed is a result: the exec ends at once with exit
/// code 127 or 126, and its output says why.
#[utoipa::path(
    post,
    path = "/api/v1/execs",
    operation_id = "createExec",
    tag = "execs",
    request_body = CreateExecRequest,
    responses(
        (status = 201, description = "The exec was created", body = ExecItem),
        ApiErrors, TooLarge, NotJson, Failed, Stopping,
    )
)]
pub(crate) async fn create_exec(
    State(app): State<App>,
    JsonBody(request): JsonBody<CreateExecRequest>,
) -> Result<(StatusCode, Json<ExecItem>), ApiError> {
    let registry = Arc::clone(&app.registry);
    // A client that goes away drops this future: half a create would be a process that nobody knows.
    let create = tokio::spawn(async move { registry.create(request).await });
    let item = create.await.map_err(ApiError::internal)??;
    Ok((StatusCode::CREATED, Json(item)))
}
