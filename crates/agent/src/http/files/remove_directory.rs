use axum::{Json, extract::State};
use sandpipe_protocol::FileOperationResponse;

use super::{
    responses::{Conflict, Failed, NoFile},
    target::Target,
};
use crate::http::{App, body::Query, error::ApiError, execs::responses::ApiErrors};

/// Remove a directory with all that is in it; links are not followed. Neither `/` nor the workspace is removed.
#[utoipa::path(
    delete,
    path = "/api/v1/directories/{path}",
    operation_id = "deleteDirectory",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("recursive" = Option<bool>, Query, description = "With false, only one that is empty"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses(
        (status = 200, description = "It is gone", body = FileOperationResponse),
        ApiErrors, NoFile, Conflict, Failed,
    )
)]
pub(super) async fn remove_directory(
    State(app): State<App>,
    target: Target,
    query: Query,
) -> Result<Json<FileOperationResponse>, ApiError> {
    let Target { path, user } = target;
    let recursive = query.flag("recursive")?.unwrap_or(true);
    let shown = path.shown();
    // It goes on when the client goes away.
    let remove =
        tokio::spawn(
            async move { app.files.remove_directory(user.as_ref(), &path, recursive).await },
        );
    remove.await.map_err(ApiError::internal)??;
    let message = "the directory was removed".into();
    Ok(Json(FileOperationResponse { message, path: shown }))
}
