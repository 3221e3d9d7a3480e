use axum::{Json, extract::State, http::StatusCode};
use sandpipe_protocol::FileReadResponse;

use super::{
    responses::{NoFile, TooLarge},
    target::Target,
};
use crate::{
    files::ReadError,
    http::{App, error::ApiError, execs::responses::ApiErrors},
};

/// Read a file: as it is where all of it is UTF-8, else in base64.
#[utoipa::path(
    get,
    path = "/api/v1/files/{path}",
    operation_id = "readFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses(
        (status = 200, description = "The file's content", body = FileReadResponse),
        ApiErrors, NoFile, TooLarge,
    )
)]
pub(super) async fn read_file(
    State(app): State<App>,
    target: Target,
) -> Result<Json<FileReadResponse>, ApiError> {
    Ok(Json(app.files.read(target.user.as_ref(), &target.path).await?))
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Worker(error) => error.into(),
            ReadError::TooLarge { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            ReadError::Read { .. } => Self::bad_request(error.to_string()),
            ReadError::NotRun(_) => Self::internal(error),
        }
    }
}
