use std::pin::pin;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header::IF_NONE_MATCH},
    response::Response,
};
use futures_util::StreamExt;
use sandpipe_protocol::{ErrorBody, FileInfo, UploadProgress};

use super::{
    responses::{Conflict, Failed, Full, TooLarge},
    target::Target,
    upload,
    written::written,
};
use crate::{
    files::{Conditions, Files},
    http::{
        App,
        body::{Query, RawBody, not_received},
        error::ApiError,
        execs::responses::ApiErrors,
    },
};

/// Write a file from the bytes of the body, of any number, whole or not at all: a client that goes away leaves nothing. Missing directories
/// are made. It takes the place of one that is there, with the mode and owner of that.
///
/// With `upload` it comes in pieces, each in a request of its own: one that breaks is gone on with. A piece that does not follow is 409, whose
/// `offset` says where to go on. A completion is answered alike for 10 minutes; an upload that nobody goes on with for so long is forgotten.
#[utoipa::path(
    put,
    path = "/api/v1/files/{path}",
    operation_id = "putFile",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("mode" = Option<String>, Query, description = "The permission bits, in octal. Default: those of the file that is replaced; of a new one as a command makes it"),
        ("append" = Option<bool>, Query, description = "With true, the bytes are appended to the end of the file, as they come"),
        ("upload" = Option<String>, Query, description = "A UUID: the body is a piece of that upload, which takes its place when it is complete"),
        ("offset" = Option<u64>, Query, description = "Where the piece belongs: at most at the end of what there is. Default: 0"),
        ("complete" = Option<bool>, Query, description = "With true, the piece is the last one"),
        ("If-None-Match" = Option<String>, Header, description = "With `*`, only where nothing is there yet"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "It has taken the place of another, or was appended to it", body = FileInfo),
        (status = 201, description = "It is new", body = FileInfo),
        (status = 202, description = "The piece was written, and there are so many bytes", body = UploadProgress),
        (status = 412, description = "With `If-None-Match: *`: something is there", body = ErrorBody),
        ApiErrors, Conflict, TooLarge, Failed, Full,
    )
)]
pub(super) async fn put_file(
    State(app): State<App>,
    target: Target,
    query: Query,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let conditions = Conditions { is_new: is_new(&headers)?, mode: mode(&query)? };
    if let Some(key) = upload::key(&query, &target)? {
        return upload::take(app.uploads, key, target, &query, conditions, request.into_body())
            .await;
    }
    let body = RawBody::new(request.into_body());
    if query.flag("append")?.unwrap_or(false) {
        if conditions.is_new {
            return Err(ApiError::bad_request("If-None-Match means nothing where is appended"));
        }
        return append(&app.files, target, conditions.mode, body).await;
    }
    let Target { path, user } = target;
    let mut writing = app.files.write(user, path, conditions).await?;
    let mut chunks = pin!(body.chunks());
    while let Some(chunk) = chunks.next().await {
        writing.push(chunk.map_err(|error| not_received(&error))?).await?;
    }
    // It is not left half done where the client goes away.
    let commit = tokio::spawn(async move { writing.commit().await });
    let (is_new, info) = commit.await.map_err(ApiError::internal)??;
    Ok(written(is_new, info))
}

async fn append(
    files: &std::sync::Arc<Files>,
    target: Target,
    mode: Option<u32>,
    body: RawBody,
) -> Result<Response, ApiError> {
    let Target { path, user } = target;
    let appending = files.append(user.as_ref(), path.clone(), mode).await?;
    let mut chunks = pin!(body.chunks());
    while let Some(chunk) = chunks.next().await {
        appending.push(chunk.map_err(|error| not_received(&error))?).await?;
    }
    Ok(written(appending.is_new, files.stat(user.as_ref(), &path).await?))
}

/// Whether the file is to be new (RFC 9110, 13.1.2).
fn is_new(headers: &HeaderMap) -> Result<bool, ApiError> {
    match headers.get(IF_NONE_MATCH).map(axum::http::HeaderValue::as_bytes) {
        None => Ok(false),
        Some(b"*") => Ok(true),
        Some(_) => Err(ApiError::bad_request("If-None-Match is taken as \"*\" alone here")),
    }
}

/// The permission bits that are asked for.
fn mode(query: &Query) -> Result<Option<u32>, ApiError> {
    let Some(text) = query.get("mode") else {
        return Ok(None);
    };
    let is_octal = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o7777);
    let mode = mode.ok_or_else(|| {
        ApiError::bad_request(format!("mode is {text:?}: it is an octal number, such as 0644"))
    })?;
    Ok(Some(mode))
}
