use std::{io, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use sandpipe_protocol::ExecListResponse;

use super::{list_json::ListJson, responses::ApiErrors};
use crate::http::{App, error::ApiError};

/// List all execs, newest first. Long command lines are shown short: `argsTruncated`.
#[utoipa::path(
    get,
    path = "/api/v1/execs",
    operation_id = "listExecs",
    tag = "execs",
    responses(
        (status = 200, description = "All execs", body = ExecListResponse),
        ApiErrors,
    )
)]
pub(crate) async fn list_execs(State(app): State<App>) -> Result<Response, ApiError> {
    let mut list = ListJson::new(Arc::clone(&app.registry));
    let first = list.next().map_err(ApiError::internal)?.unwrap_or_default();
    let body = if list.is_done() {
        first.into()
    } else {
        let first = stream::iter([Ok(Bytes::from(first))]);
        let rest = stream::iter(std::iter::from_fn(move || list.next().transpose()));
        Body::from_stream(first.chain(rest.map(|part| Ok::<_, io::Error>(part?.into()))))
    };
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}
