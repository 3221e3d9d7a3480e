use axum::{
    extract::{FromRequestParts, MatchedPath},
    http::request::Parts,
};
use percent_encoding::percent_decode_str;

use crate::{
    features::Feature,
    files::{FilePath, InvalidPath, NoUser},
    http::{App, body::Query, error::ApiError},
    process::Identity,
};

/// The file that a request is about, and whose rights it is to be touched with.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) path: FilePath,
    pub(super) user: Option<Identity>,
}

impl FromRequestParts<App> for Target {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let encoded = encoded_path(parts);
        // Bytes: a name need not be UTF-8.
        let bytes: Vec<u8> = percent_decode_str(encoded).collect();
        let path = FilePath::new(&bytes, app.files.workspace())?;
        let query = Query::from_request_parts(parts, app).await?;
        let user = query.get("user").filter(|_| app.features.has(Feature::FilesRaw));
        let user = app.files.user(user).await?;
        Ok(Self { path, user })
    }
}

/// What follows the path of the operation, as it came.
fn encoded_path(parts: &Parts) -> &str {
    let matched = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let before = matched.split('{').next().unwrap_or_default();
    parts.uri.path().strip_prefix(before).unwrap_or_default()
}

impl From<InvalidPath> for ApiError {
    fn from(error: InvalidPath) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<NoUser> for ApiError {
    fn from(error: NoUser) -> Self {
        match error {
            NoUser::Invalid(_) => Self::bad_request(error.to_string()),
            NoUser::NotRun(_) => Self::internal(error),
        }
    }
}
