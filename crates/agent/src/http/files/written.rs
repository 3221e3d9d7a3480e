use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use sandpipe_protocol::FileInfo;

/// Answers what a file is like that was written.
pub(super) fn written(is_new: bool, info: FileInfo) -> Response {
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    (status, Json(info)).into_response()
}
