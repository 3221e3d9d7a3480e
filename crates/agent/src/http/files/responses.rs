use sandpipe_protocol::ErrorBody;

/// There is nothing of that name
#[derive(utoipa::IntoResponses)]
#[response(status = 404)]
#[allow(dead_code)]
pub(super) struct NoFile(ErrorBody);

/// There is more of it than the agent takes or gives at once
#[derive(utoipa::IntoResponses)]
#[response(status = 413)]
#[allow(dead_code)]
pub(super) struct TooLarge(ErrorBody);
