use axum::{
    Json,
    body::Body,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use sandpipe_protocol::UploadProgress;

use super::{target::Target, written::written};
use crate::{
    files::{Conditions, Piece, UploadAnswer, UploadError, UploadKey, UploadOptions, Uploads},
    http::{
        body::{Query, RawBody, not_received},
        error::ApiError,
    },
};

/// The longest name of an upload, such as a UUID.
const MAX_ID: usize = 64;

/// The upload that a request names, if it names one.
pub(super) fn key(query: &Query, target: &Target) -> Result<Option<UploadKey>, ApiError> {
    let Some(id) = query.get("upload") else {
        return Ok(None);
    };
    let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if id.is_empty() || id.len() > MAX_ID || !is_id(id) {
        let message = format!(
            "upload is {:?}: it is a UUID, or up to {MAX_ID} other letters, digits and \"-\"",
            id.chars().take(MAX_ID).collect::<String>()
        );
        return Err(ApiError::bad_request(message));
    }
    Ok(Some(UploadKey::new(target.user.as_ref(), &target.path, id)))
}

/// Takes a piece of an upload.
pub(super) async fn take(
    uploads: std::sync::Arc<Uploads>,
    key: UploadKey,
    target: Target,
    query: &Query,
    conditions: Conditions,
    body: Body,
) -> Result<Response, ApiError> {
    let Target { path, user } = target;
    let offset = match query.get("offset") {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            ApiError::bad_request(format!("offset is {text:?}: it is a number of bytes"))
        })?,
    };
    let completes = query.flag("complete")?.unwrap_or(false);
    let options = UploadOptions { conditions, appends: query.flag("append")?.unwrap_or(false) };
    let piece = Piece { offset, completes };
    // What has come is kept where the client goes away, and a completion is not left half done.
    let chunks = RawBody::new(body).chunks();
    let upload =
        tokio::spawn(async move { uploads.take(key, user, path, options, piece, chunks).await });
    match upload.await.map_err(ApiError::internal)?? {
        UploadAnswer::Progress(offset) => {
            Ok((StatusCode::ACCEPTED, Json(UploadProgress { offset })).into_response())
        }
        UploadAnswer::Complete { is_new, info } => Ok(written(is_new, info)),
    }
}

impl From<UploadError> for ApiError {
    fn from(error: UploadError) -> Self {
        let status = match error {
            UploadError::Worker(error) => return error.into(),
            UploadError::Body(error) => return not_received(&error),
            UploadError::Offset { length, .. } => {
                return Self::of_upload(error.to_string(), UploadProgress { offset: length });
            }
            UploadError::OtherOptions => StatusCode::BAD_REQUEST,
            UploadError::Superseded => StatusCode::CONFLICT,
            UploadError::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            UploadError::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}
