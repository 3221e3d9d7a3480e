use axum::{Json, extract::State, http::StatusCode};
use sandpipe_protocol::FileOperationResponse;

use super::{
    responses::{Failed, NoFile},
    target::Target,
    upload,
};
use crate::{
    features::Feature,
    files::UploadKey,
    http::{App, body::Query, error::ApiError, execs::responses::ApiErrors},
};

/// Remove a file, a link, or whatever else is no directory.
#[utoipa::path(
    delete,
    path = "/api/v1/files/{path}",
    operation_id = "deleteFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("upload" = Option<String>, Query, description = "Gives up that upload instead (`files-raw`)"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses(
        (status = 200, description = "It is gone", body = FileOperationResponse),
        ApiErrors, NoFile, Failed,
    )
)]
pub(super) async fn remove_file(
    State(app): State<App>,
    target: Target,
    query: Query,
) -> Result<Json<FileOperationResponse>, ApiError> {
    if app.features.has(Feature::FilesRaw)
        && let Some(key) = upload::key(&query, &target)?
    {
        return give_up(&app, &key, &target);
    }
    app.files.remove_file(target.user.as_ref(), &target.path).await?;
    let message = "the file was removed".into();
    Ok(Json(FileOperationResponse { message, path: target.path.shown() }))
}

fn give_up(
    app: &App,
    key: &UploadKey,
    target: &Target,
) -> Result<Json<FileOperationResponse>, ApiError> {
    if !app.uploads.give_up(key) {
        let message = "there is no such upload: it was given up, or nobody has gone on with it for 10 minutes";
        return Err(ApiError::new(StatusCode::NOT_FOUND, message));
    }
    let message = "the upload was given up".into();
    Ok(Json(FileOperationResponse { message, path: target.path.shown() }))
}
