use axum::{Json, extract::State};
use sandpipe_protocol::FileInfo;

use super::{responses::NoFile, target::Target};
use crate::http::{App, error::ApiError, execs::responses::ApiErrors};

/// Say what is known of a file, a directory, or something else that has a name.
#[utoipa::path(
    get,
    path = "/api/v1/file_stat/{path}",
    operation_id = "statFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses((status = 200, description = "What is there", body = FileInfo), ApiErrors, NoFile)
)]
pub(super) async fn stat_file(
    State(app): State<App>,
    target: Target,
) -> Result<Json<FileInfo>, ApiError> {
    Ok(Json(app.files.stat(target.user.as_ref(), &target.path).await?))
}
