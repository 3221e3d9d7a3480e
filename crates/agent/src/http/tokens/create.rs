use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use axum::{Json, extract::State, http::StatusCode};
use sandpipe_protocol::{CreateTokenRequest, CreatedToken, ErrorBody};

use crate::{
    files::FilePath,
    http::{
        App,
        body::JsonBody,
        error::ApiError,
        execs::responses::{ApiErrors, Failed, NotJson, TooLarge},
    },
    tokens::{MAX_LIFETIME, NoToken, Scopes},
};

/// The most execs that one scope names.
const MAX_EXECS: usize = 1000;

/// Create a scoped token: it may do what its scopes say, and nothing else, until it expires, is revoked, or the agent ends.
///
/// The answer is the only one that shows the token.
#[utoipa::path(
    post,
    path = "/api/v1/tokens",
    operation_id = "createToken",
    tag = "tokens",
    request_body = CreateTokenRequest,
    responses(
        (status = 201, description = "The token", body = CreatedToken),
        (status = 409, description = "There are as many valid tokens as there may be", body = ErrorBody),
        ApiErrors, TooLarge, NotJson, Failed,
    )
)]
pub(crate) async fn create_token(
    State(app): State<App>,
    JsonBody(request): JsonBody<CreateTokenRequest>,
) -> Result<(StatusCode, Json<CreatedToken>), ApiError> {
    let lifetime = Duration::from_millis(request.expires_in_ms.into());
    if lifetime.is_zero() || lifetime > MAX_LIFETIME {
        return Err(ApiError::bad_request(format!(
            "\"expiresInMs\" is {}: it is a number of milliseconds from 1 to {}",
            request.expires_in_ms,
            MAX_LIFETIME.as_millis()
        )));
    }
    let scopes = Scopes {
        read_execs: execs(&app, "readExecs", request.read_execs)?,
        type_into: execs(&app, "typeInto", request.type_into)?,
        create_commands: request.create_commands.unwrap_or_default(),
        read_files: directory(&app, "readFiles", request.read_files).await?,
        write_files: directory(&app, "writeFiles", request.write_files).await?,
    };
    if scopes.are_empty() {
        return Err(ApiError::bad_request(
            "the token has no scope: name at least one of \"readExecs\", \"typeInto\", \"createCommands\", \"readFiles\" \
             and \"writeFiles\"",
        ));
    }
    let (token, made) = app.scoped_tokens.create(scopes, lifetime)?;
    let expires_at = humantime::format_rfc3339_millis(made.expires_at()).to_string();
    let created = CreatedToken { id: made.id.to_string(), token, expires_at };
    Ok((StatusCode::CREATED, Json(created)))
}

/// The execs of a scope. They exist, so that a mistyped id is not taken for one.
fn execs(app: &App, scope: &str, ids: Option<Vec<String>>) -> Result<BTreeSet<String>, ApiError> {
    let ids = ids.unwrap_or_default();
    if ids.len() > MAX_EXECS {
        let message = format!("{scope:?} has {} ids: at most {MAX_EXECS}", ids.len());
        return Err(ApiError::bad_request(message));
    }
    if let Some(unknown) = ids.iter().find(|id| app.registry.get(id).is_none()) {
        return Err(ApiError::bad_request(format!("{scope:?}: there is no exec {unknown:?}")));
    }
    Ok(ids.into_iter().collect())
}

/// The directory of a scope. Its path has no link, so that nobody who may write beside it can have it lead elsewhere.
async fn directory(
    app: &App,
    scope: &str,
    directory: Option<String>,
) -> Result<Option<Arc<Path>>, ApiError> {
    let Some(directory) = directory else {
        return Ok(None);
    };
    let wrong = |what: &str| ApiError::bad_request(format!("{scope:?} is {directory:?}: {what}"));
    if directory.is_empty() {
        return Err(wrong("name a directory, such as \".\" for the workspace"));
    }
    let path = FilePath::new(directory.as_bytes(), app.files.workspace())?;
    let root: Arc<Path> = path.absolute().components().collect::<std::path::PathBuf>().into();
    let path = path.beneath(&root).ok_or_else(|| wrong("name the directory without \"..\""))?;
    let user = app.files.user(None).await?;
    app.files.stat(user.as_ref(), &path).await.map_err(|error| {
        wrong(&format!("{error}. It has to be a directory whose path has no symbolic link"))
    })?;
    Ok(Some(root))
}

impl From<NoToken> for ApiError {
    fn from(error: NoToken) -> Self {
        let status = match error {
            NoToken::TooMany => StatusCode::CONFLICT,
            NoToken::Random(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}
