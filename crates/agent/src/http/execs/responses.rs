use sandpipe_protocol::{ErrorBody, Gap};

/// The error answers of every path. They are written out for each kind of path, since the document
/// is made of what is written.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code)]
pub(crate) enum ApiErrors {
    /// The request is not as it should be
    #[response(status = 400)]
    BadRequest(ErrorBody),
    /// The token is missing or wrong
    #[response(status = 401)]
    Unauthorized(ErrorBody),
    /// The token is read-only, or the host is not the agent's
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// Another error
    #[response(status = "default")]
    Default(ErrorBody),
}

/// There is no such exec
#[derive(utoipa::IntoResponses)]
#[response(status = 404)]
#[allow(dead_code)]
pub(crate) struct NoExec(ErrorBody);

/// The body is larger than the agent takes
#[derive(utoipa::IntoResponses)]
#[response(status = 413)]
#[allow(dead_code)]
pub(crate) struct TooLarge(ErrorBody);

/// The body is not sent as JSON
#[derive(utoipa::IntoResponses)]
#[response(status = 415)]
#[allow(dead_code)]
pub(crate) struct NotJson(ErrorBody);

/// The agent lacks what it needs for it
#[derive(utoipa::IntoResponses)]
#[response(status = 500)]
#[allow(dead_code)]
pub(crate) struct Failed(ErrorBody);

/// The agent has no memory for so large a body now
#[derive(utoipa::IntoResponses)]
#[response(status = 503)]
#[allow(dead_code)]
pub(crate) struct NoMemory(ErrorBody);

/// The agent is stopping, or its system has no room for another command now
#[derive(utoipa::IntoResponses)]
#[response(status = 503)]
#[allow(dead_code)]
pub(crate) struct Stopping(ErrorBody);

/// Events that were asked for are not there any more
#[derive(utoipa::IntoResponses)]
#[response(status = 410)]
#[allow(dead_code)]
pub(crate) struct Lost(LostBody);

/// An error, and which events are lost
#[derive(utoipa::ToSchema)]
#[allow(dead_code)]
pub(crate) struct LostBody {
    #[schema(inline)]
    #[serde(flatten)]
    error: ErrorBody,
    #[serde(flatten)]
    gap: Gap,
}
