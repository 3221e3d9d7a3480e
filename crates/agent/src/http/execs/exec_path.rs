use std::sync::Arc;

use axum::{
    Extension,
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::{
    execs::Exec,
    http::{
        App,
        error::{ApiError, extension},
    },
    tokens::{Access, Refusal},
};

/// The exec that a path names, where the token may do with it what the request needs.
pub(crate) struct ExecPath(pub(crate) Arc<Exec>);

impl FromRequestParts<App> for ExecPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|rejection| ApiError::bad_request(rejection.body_text()))?;
        let exec = app.registry.get(&id).ok_or_else(|| ApiError::no_exec(&id))?;
        let Extension(access) = extension::<Access>(parts).await?;
        let Extension(need) = extension(parts).await?;
        match access.check_exec(need, exec.named()) {
            Ok(()) => Ok(Self(exec)),
            // As if it were not there.
            Err(Refusal::NotFound) => Err(ApiError::no_exec(&id)),
            Err(refusal) => Err(refusal.into()),
        }
    }
}
