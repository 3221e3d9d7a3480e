use axum::{
    Extension,
    extract::{FromRequestParts, MatchedPath},
    http::{StatusCode, request::Parts},
};
use percent_encoding::percent_decode_str;

use crate::{
    features::Feature,
    files::{FilePath, InvalidPath, NoUser},
    http::{
        App,
        body::Query,
        error::{ApiError, extension},
    },
    process::Identity,
    tokens::{Access, Need},
};

/// The file that a request is about, and whose rights it is to be touched with.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) path: FilePath,
    pub(super) user: Option<Identity>,
}

/// The same before it is known what is to be done to the file, and whether the token may do that.
pub(super) struct NamedTarget {
    target: Target,
    access: Access,
}

impl NamedTarget {
    /// Checks that the token may do that to the file.
    pub(super) fn allowed(self, need: Need) -> Result<Target, ApiError> {
        let Target { path, user } = self.target;
        Ok(Target { path: beneath(path, &self.access, need)?, user })
    }
}

/// A path as a token may name it.
pub(super) fn beneath(path: FilePath, access: &Access, need: Need) -> Result<FilePath, ApiError> {
    let Some(root) = access.directory(need)? else {
        return Ok(path);
    };
    let shown = path.shown();
    path.beneath(root).ok_or_else(|| {
        let message = format!(
            "{shown} is not below {}, which is the directory that the token is for: name a path below it, without \"..\"",
            root.display()
        );
        ApiError::new(StatusCode::FORBIDDEN, message)
    })
}

impl FromRequestParts<App> for Target {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let target = NamedTarget::from_request_parts(parts, app).await?;
        let Extension(need) = extension(parts).await?;
        target.allowed(need)
    }
}

impl FromRequestParts<App> for NamedTarget {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Extension(access): Extension<Access> = extension(parts).await?;
        let encoded = encoded_path(parts);
        // Bytes: a name need not be UTF-8.
        let bytes: Vec<u8> = percent_decode_str(encoded).collect();
        let path = FilePath::new(&bytes, app.files.workspace())?;
        let query = Query::from_request_parts(parts, app).await?;
        let user = query.get("user").filter(|_| app.features.has(Feature::FilesRaw));
        if user.is_some() && access.token_id().is_some() {
            let message = "the token is scoped: it may not name a \"user\" for files";
            return Err(ApiError::new(StatusCode::FORBIDDEN, message));
        }
        let user = app.files.user(user).await?;
        Ok(Self { target: Target { path, user }, access })
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
