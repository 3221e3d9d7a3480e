use sandpipe_protocol::ErrorBody;

/// There is nothing of that name
#[derive(utoipa::IntoResponses)]
#[response(status = 404)]
#[allow(dead_code)]
pub(super) struct NoFile(ErrorBody);

/// The system allows no more watches
#[derive(utoipa::IntoResponses)]
#[response(status = 507)]
#[allow(dead_code)]
pub(super) struct TooManyWatches(ErrorBody);

/// There is more of it than the agent takes or gives at once
#[derive(utoipa::IntoResponses)]
#[response(status = 413)]
#[allow(dead_code)]
pub(super) struct TooLarge(ErrorBody);

/// Something else is there
#[derive(utoipa::IntoResponses)]
#[response(status = 409)]
#[allow(dead_code)]
pub(super) struct Conflict(ErrorBody);

/// It failed
#[derive(utoipa::IntoResponses)]
#[response(status = 500)]
#[allow(dead_code)]
pub(super) struct Failed(ErrorBody);

/// The file system is full
#[derive(utoipa::IntoResponses)]
#[response(status = 507)]
#[allow(dead_code)]
pub(super) struct Full(ErrorBody);
