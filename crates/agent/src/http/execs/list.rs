use std::{io, sync::Arc};

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use sandpipe_protocol::ExecListResponse;

use super::{list_json::ListJson, responses::ApiErrors};
use crate::{
    http::{App, error::ApiError},
    tokens::Access,
};

/// List all execs, newest first; with a scoped token, those that it may read. Long command lines are shown short: `argsTruncated`.
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
pub(crate) async fn list_execs(
    State(app): State<App>,
    Extension(access): Extension<Access>,
) -> Result<Response, ApiError> {
    let mut list = ListJson::new(Arc::clone(&app.registry), access);
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
