use axum::{Json, extract::State};
use sandpipe_protocol::FileOperationResponse;

use super::{
    responses::{Failed, NoFile},
    target::Target,
};
use crate::http::{App, error::ApiError, execs::responses::ApiErrors};

/// Remove a file, a link, or whatever else is no directory.
#[utoipa::path(
    delete,
    path = "/api/v1/files/{path}",
    operation_id = "deleteFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
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
) -> Result<Json<FileOperationResponse>, ApiError> {
    app.files.remove_file(target.user.as_ref(), &target.path).await?;
    let message = "the file was removed".into();
    Ok(Json(FileOperationResponse { message, path: target.path.shown() }))
}
