use std::io;

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use sandpipe_protocol::DirectoryListResponse;

use super::{
    responses::{NoFile, TooLarge},
    target::Target,
};
use crate::{
    files::Listing,
    http::{App, body::Query, error::ApiError, execs::responses::ApiErrors},
};

/// How far down a list may go.
const MAX_DEPTH: u32 = 64;

/// List what is in a directory: names in the order of their bytes. At most 100,000 entries.
#[utoipa::path(
    get,
    path = "/api/v1/directories/{path}",
    operation_id = "listDirectory",
    tag = "files",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        (
            "depth" = Option<u32>, Query,
            description = "How far down it goes: 1, the default, for the directory alone, at most 64. What is in a directory comes right behind it; links are not followed"
        ),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses(
        (status = 200, description = "What is in it", body = DirectoryListResponse),
        ApiErrors, NoFile, TooLarge,
    )
)]
pub(super) async fn list_directory(
    State(app): State<App>,
    target: Target,
    query: Query,
) -> Result<Response, ApiError> {
    let depth = match query.get("depth") {
        None => 1,
        Some(text) => {
            let depth = text.parse().ok().filter(|depth| (1..=MAX_DEPTH).contains(depth));
            depth.ok_or_else(|| {
                let message = format!("depth is {text:?}: it is a number from 1 to {MAX_DEPTH}");
                ApiError::bad_request(message)
            })?
        }
    };
    let listing = app.files.list(target.user.as_ref(), &target.path, depth).await?;
    let path = serde_json::to_string(&target.path.shown()).map_err(ApiError::internal)?;
    let beginning = Bytes::from(format!("{{\"path\":{path},\"files\":["));
    let entries = stream::unfold(Some((listing, true)), next);
    let body = stream::iter([Ok(beginning)]).chain(entries);
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response())
}

/// The next entries as JSON; with the last ones, the end. What can't be had of the list cuts it off.
async fn next(
    state: Option<(Listing, bool)>,
) -> Option<(io::Result<Bytes>, Option<(Listing, bool)>)> {
    let (mut listing, is_first) = state?;
    let infos = match listing.next().await {
        Ok(infos) => infos,
        Err(error) => return Some((Err(io::Error::other(error)), None)),
    };
    if infos.is_empty() {
        return Some((Ok(Bytes::from_static(b"]}")), None));
    }
    let mut json = Vec::new();
    for info in &infos {
        if !(is_first && json.is_empty()) {
            json.push(b',');
        }
        if let Err(error) = serde_json::to_writer(&mut json, info) {
            return Some((Err(error.into()), None));
        }
    }
    Some((Ok(json.into()), Some((listing, false))))
}
