use axum::{Json, extract::State, http::StatusCode};
use sandpipe_protocol::FileOperationResponse;

use super::{
    responses::{Conflict, Failed, Full},
    target::Target,
};
use crate::http::{App, error::ApiError, execs::responses::ApiErrors};

/// Make a directory, and those above it that are missing. One that is there stays as it is.
#[utoipa::path(
    post,
    path = "/api/v1/directories/{path}",
    operation_id = "createDirectory",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses(
        (status = 201, description = "It is there", body = FileOperationResponse),
        ApiErrors, Conflict, Failed, Full,
    )
)]
pub(super) async fn make_directory(
    State(app): State<App>,
    target: Target,
) -> Result<(StatusCode, Json<FileOperationResponse>), ApiError> {
    app.files.make_directory(target.user.as_ref(), &target.path).await?;
    let message = "the directory is there".into();
    let done = FileOperationResponse { message, path: target.path.shown() };
    Ok((StatusCode::CREATED, Json(done)))
}
