use axum::{
    Json,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use sandpipe_protocol::{ErrorBody, FileReadResponse};

use super::{
    raw,
    responses::{NoFile, TooLarge},
    target::Target,
};
use crate::{
    features::Feature,
    http::{App, error::ApiError, execs::responses::ApiErrors},
};

/// Read a file: as it is where all of it is UTF-8, else in base64. At most 16 MiB.
///
/// With the feature `files-raw` and `Accept: application/octet-stream` its bytes, of any number, or a `Range` of them. `ETag` stands for
/// the file as it was when it was opened; where it is changed before all is sent the answer is cut off.
#[utoipa::path(
    get,
    path = "/api/v1/files/{path}",
    operation_id = "readFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)"),
        ("Range" = Option<String>, Header, description = "One part of the bytes"),
        ("If-Range" = Option<String>, Header, description = "An `ETag`: where the file is another by now it is sent whole")
    ),
    responses(
        (
            status = 200, description = "The file's content",
            content((FileReadResponse = "application/json"), (Vec<u8> = "application/octet-stream"))
        ),
        (
            status = 206, description = "The part of its bytes that was asked for",
            body = Vec<u8>, content_type = "application/octet-stream"
        ),
        (
            status = 416, description = "It has no such part; `Content-Range` has its size",
            body = ErrorBody
        ),
        ApiErrors, NoFile, TooLarge,
    )
)]
pub(super) async fn read_file(
    State(app): State<App>,
    target: Target,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (user, path) = (target.user.as_ref(), &target.path);
    if app.features.has(Feature::FilesRaw) && raw::is_asked_for(&headers) {
        return raw::respond(app.files.open(user, path).await?, &headers);
    }
    Ok(Json(app.files.read(user, path).await?).into_response())
}
