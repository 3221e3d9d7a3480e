use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::{
    execs::Exec,
    http::{App, error::ApiError},
};

/// The exec that a path names.
pub(crate) struct ExecPath(pub(crate) Arc<Exec>);

impl FromRequestParts<App> for ExecPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|rejection| ApiError::bad_request(rejection.body_text()))?;
        match app.registry.get(&id) {
            Some(exec) => Ok(Self(exec)),
            None => Err(ApiError::no_exec(&id)),
        }
    }
}
