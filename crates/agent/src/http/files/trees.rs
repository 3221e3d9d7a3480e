use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Request, State},
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    responses::{Conflict, Failed, Full, NoFile, TooLarge},
    target::Target,
};
use crate::{
    files::UnpackError,
    http::{
        App,
        body::{Query, RawBody, not_received},
        error::ApiError,
        execs::responses::ApiErrors,
    },
    ignore_patterns::IgnorePatterns,
    server::Peer,
    worker::Unpacked,
};

const TAR: &str = "application/x-tar";

/// What was unpacked.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct TreeUnpacked {
    /// The directory.
    path: String,
    /// How many files, links and the like; directories don't count.
    #[schema(value_type = i64)]
    files: u64,
    /// How many bytes are in them.
    #[schema(value_type = i64)]
    bytes: u64,
}

/// Read a directory with all that is in it as a tar stream, or a file alone. Names are below the directory; links are links, sockets are left
/// out. Where not all can be read there is an entry for the directory itself whose pax records `SANDPIPE.failure.status` and `.message` say why, and
/// the stream breaks off behind it, in the header of another; where that shows in the middle of a file the connection is cut off.
#[utoipa::path(
    get,
    path = "/api/v1/trees/{path}",
    operation_id = "readTree",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("exclude" = Option<Vec<String>>, Query, description = "Patterns of paths that are left out with all that is below: `*` in one name, `**` for any depth; one without a slash is for a name at any depth"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create")
    ),
    responses(
        (status = 200, description = "All that is in it", body = Vec<u8>, content_type = "application/x-tar"),
        ApiErrors, NoFile,
    )
)]
pub(super) async fn read_tree(
    State(app): State<App>,
    target: Target,
    query: Query,
    peer: Option<Extension<Arc<Peer>>>,
) -> Result<Response, ApiError> {
    let exclude = IgnorePatterns::new(query.all("exclude"))?;
    let tree = app.files.pack(target.user.as_ref(), &target.path, exclude).await?;
    if let Some(Extension(peer)) = peer {
        // There is no range of it that could be asked for.
        peer.may_pause();
    }
    let headers = [(CONTENT_TYPE, TAR), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(tree.chunks())).into_response())
}

/// Unpack a tar stream into a directory, which is made where it is missing. Each file takes its place whole; nothing is made or changed outside of
/// the directory. Modes and times are kept, the owner is the user. Where the stream is broken or cut off, what was unpacked before stays.
#[utoipa::path(
    put,
    path = "/api/v1/trees/{path}",
    operation_id = "putTree",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create")
    ),
    request_body(content = Vec<u8>, content_type = "application/x-tar"),
    responses(
        (status = 200, description = "All of it was unpacked", body = TreeUnpacked),
        ApiErrors, Conflict, TooLarge, Failed, Full,
    )
)]
pub(super) async fn put_tree(
    State(app): State<App>,
    target: Target,
    request: Request,
) -> Result<Json<TreeUnpacked>, ApiError> {
    let Target { path, user } = target;
    let chunks = RawBody::new(request.into_body()).chunks();
    let Unpacked { files, bytes } = app.files.unpack(user.as_ref(), &path, chunks).await?;
    Ok(Json(TreeUnpacked { path: path.shown(), files, bytes }))
}

impl From<UnpackError> for ApiError {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Body(error) => not_received(&error),
            UnpackError::Worker(error) => error.into(),
        }
    }
}
