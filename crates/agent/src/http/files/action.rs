use axum::{Extension, Json, extract::State};
use sandpipe_protocol::{FileAction, FileActionRequest, FileActionResponse};

use super::{
    responses::{Conflict, Failed, Full, NoFile},
    target::{NamedTarget, Target, beneath},
};
use crate::{
    files::FilePath,
    http::{App, body::JsonBody, error::ApiError, execs::responses::ApiErrors},
    tokens::{Access, Need},
};

/// Move or copy a file or directory. Missing directories above the destination are made.
///
/// A move takes the place of a file, or of an empty directory if it is one. A copy of a file takes the place of another one as a whole; a
/// directory is copied with `recursive` alone, to where nothing is.
#[utoipa::path(
    patch,
    path = "/api/v1/files/{path}",
    operation_id = "performFileAction",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    request_body = FileActionRequest,
    responses(
        (status = 200, description = "It was done", body = FileActionResponse),
        ApiErrors, NoFile, Conflict, Failed, Full,
    )
)]
pub(super) async fn act_on_file(
    State(app): State<App>,
    Extension(access): Extension<Access>,
    target: NamedTarget,
    JsonBody(request): JsonBody<FileActionRequest>,
) -> Result<Json<FileActionResponse>, ApiError> {
    // What is copied is only read.
    let need = match request.action {
        FileAction::Move => Need::WriteFiles,
        FileAction::Copy => Need::ReadFiles,
    };
    let Target { path, user } = target.allowed(need)?;
    if request.destination.is_empty() {
        return Err(ApiError::bad_request("\"destination\" is empty: name a path"));
    }
    let to = FilePath::new(request.destination.as_bytes(), app.files.workspace())?;
    let to = beneath(to, &access, Need::WriteFiles)?;
    let recursive = request.recursive.unwrap_or(false);
    let (from, destination) = (path.shown(), to.shown());
    let files = app.files;
    // It goes on when the client goes away.
    let done = tokio::spawn(async move {
        let user = user.as_ref();
        match request.action {
            FileAction::Move => files.move_to(user, &path, &to).await,
            FileAction::Copy => files.copy_to(user, &path, &to, recursive).await,
        }
    });
    done.await.map_err(ApiError::internal)??;
    let message = match request.action {
        FileAction::Move => "it was moved",
        FileAction::Copy => "it was copied",
    };
    Ok(Json(FileActionResponse { message: message.into(), from, to: destination }))
}
