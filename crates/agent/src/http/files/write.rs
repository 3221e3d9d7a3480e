use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
};
use sandpipe_protocol::FileReadResponse;

use super::{
    responses::{Conflict, Failed, Full, TooLarge},
    target::Target,
};
use crate::{
    files::{Conditions, content},
    http::{App, body, error::ApiError, execs::responses::ApiErrors},
};

/// Write a file, whole or not at all: it takes the place of one that is there, with the mode and owner of that. Missing directories are
/// made. At most 16 MiB, which the answer repeats.
#[utoipa::path(
    post,
    path = "/api/v1/files/{path}",
    operation_id = "createFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "What was written", body = FileReadResponse),
        ApiErrors, Conflict, TooLarge, Failed, Full,
    )
)]
pub(super) async fn write_file(
    State(app): State<App>,
    target: Target,
    request: Request,
) -> Result<(StatusCode, Json<FileReadResponse>), ApiError> {
    let Target { path, user } = target;
    let (bytes, _memory) = body::read(request.into_body()).await?;
    let mut writing = app.files.write(user, path.clone(), Conditions::default()).await?;
    let bytes = bytes::Bytes::from(bytes);
    writing.push(bytes.clone()).await?;
    // It is not left half done where the client goes away.
    let commit = tokio::spawn(async move { writing.commit().await });
    commit.await.map_err(ApiError::internal)??;
    Ok((StatusCode::CREATED, Json(content(&path, bytes.into()))))
}
