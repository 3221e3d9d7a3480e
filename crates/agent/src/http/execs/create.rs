use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use sandpipe_protocol::{CreateExecRequest, ErrorBody, ExecItem, ExecStdout};

use super::{
    idempotency_key::KeyHeader,
    responses::{ApiErrors, Failed, NotJson, Stopping, TooLarge},
    stream_output::OutputStream,
};
use crate::{
    execs::{CreateError, Created},
    features::Feature,
    http::{App, body::JsonBody, error::ApiError, event_stream, output_format::OutputFormat},
    output::StartAfter,
    tokens::Access,
};

/// Create an exec, and start it unless `autostart` is false.
///
/// A command that does not exist or can't be executed is a result: the exec ends at once with exit
/// code 127 or 126, and its output says why.
///
/// With the feature `idempotency-key` a create can be repeated with the same key and the same body
/// without running the command twice.
///
/// With the feature `create-stream` and `Accept: text/event-stream` the answer goes on with the output: an
/// event named `exec` with the `ExecItem`, then the events of the exec's stream. With the feature `frames` and `Accept:
/// application/vnd.sandpipe.output` it goes on in frames, the first of which has the `ExecItem` as a list has it.
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
        (
            status = 200, description = "It was created before with this key",
            content(
                (ExecItem = "application/json"), (ExecStdout = "text/event-stream"),
                (Vec<u8> = "application/vnd.sandpipe.output")
            )
        ),
        (
            status = 201, description = "The exec was created",
            content(
                (ExecItem = "application/json"), (ExecStdout = "text/event-stream"),
                (Vec<u8> = "application/vnd.sandpipe.output")
            )
        ),
        (
            status = 409, description = "It was created before with this key, and is gone",
            body = ErrorBody
        ),
        (status = 422, description = "The key was used for another body", body = ErrorBody),
        ApiErrors, TooLarge, NotJson, Failed, Stopping,
    )
)]
pub(crate) async fn create_exec(
    State(app): State<App>,
    Extension(access): Extension<Access>,
    KeyHeader(key): KeyHeader,
    headers: HeaderMap,
    JsonBody(mut request): JsonBody<CreateExecRequest>,
) -> Result<Response, ApiError> {
    if !app.features.has(Feature::Contain) {
        request.contain = Some(false);
    }
    // What asks for walls is not to run without them.
    if request.policy.is_some() && !app.features.has(Feature::Policy) {
        return Err(CreateError::NoPolicies.into());
    }
    let registry = Arc::clone(&app.registry);
    let creator = access.token_id().cloned();
    // A client that goes away drops this future: half a create would be a process that nobody knows.
    let create = tokio::spawn(async move { registry.create(request, key, creator).await });
    let (status, exec) = match create.await.map_err(ApiError::internal)?? {
        Created::New(exec) => (StatusCode::CREATED, exec),
        Created::Before(exec) => (StatusCode::OK, exec),
    };
    let format = OutputFormat::asked_for(&app, &headers);
    let Some(format) = format.filter(|_| app.features.has(Feature::CreateStream)) else {
        return Ok((status, Json(exec.whole_item().await)).into_response());
    };
    let item = match format {
        OutputFormat::Events => exec.whole_item().await,
        // A frame has no room for any command line.
        OutputFormat::Frames => exec.listed_item(),
    };
    let first = format.exec(&item).map_err(ApiError::internal)?;
    let output = OutputStream::of(&app, &exec, StartAfter(0), format).await?;
    Ok((status, event_stream::respond(app.ping_interval, format, first, output)).into_response())
}
