use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use sandpipe_protocol::{CreateExecRequest, ErrorBody, ExecItem};

use super::{
    idempotency_key::KeyHeader,
    responses::{ApiErrors, Failed, NotJson, Stopping, TooLarge},
};
use crate::{
    execs::Created,
    http::{App, body::JsonBody, error::ApiError},
};

/// Create an exec, and start it unless `autostart` is false.
///
/// A command that does not exist or can't be executed is a result: the exec ends at once with exit
/// code 127 or 126, and its output says why.
///
/// With the feature `idempotency-key` a create can be repeated with the same key and the same body
/// without running the command twice.
#[utoipa::path(
    post,
    path = "/api/v1/execs",
    operation_id = "createExec",
    tag = "execs",
    params((
        "Idempotency-Key" = Option<String>, Header,
        description = "1 to 255 visible ASCII characters, a new one for each command"
    )),
    request_body = CreateExecRequest,
    responses(
        (status = 200, description = "It was created before with this key", body = ExecItem),
        (status = 201, description = "The exec was created", body = ExecItem),
        (
            status = 409, description = "It was created before with this key, and deleted since",
            body = ErrorBody
        ),
        (status = 422, description = "The key was used for another body", body = ErrorBody),
        ApiErrors, TooLarge, NotJson, Failed, Stopping,
    )
)]
pub(crate) async fn create_exec(
    State(app): State<App>,
    KeyHeader(key): KeyHeader,
    JsonBody(request): JsonBody<CreateExecRequest>,
) -> Result<(StatusCode, Json<ExecItem>), ApiError> {
    let registry = Arc::clone(&app.registry);
    // A client that goes away drops this future: half a create would be a process that nobody knows.
    let create = tokio::spawn(async move { registry.create(request, key).await });
    Ok(match create.await.map_err(ApiError::internal)?? {
        Created::New(item) => (StatusCode::CREATED, Json(item)),
        Created::Before(item) => (StatusCode::OK, Json(item)),
    })
}
