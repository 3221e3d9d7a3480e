use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use sandpipe_protocol::{ErrorBody, TokenRevokeResponse};

use crate::http::{App, error::ApiError, execs::responses::ApiErrors};

/// Revoke a scoped token. Streams and WebSockets that it has open end, and its requests are refused from now on. Commands that it has
/// created go on.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{id}",
    operation_id = "revokeToken",
    tag = "tokens",
    params(("id" = String, Path, description = "The token's id, not the token")),
    responses(
        (status = 200, description = "The token is not valid any more", body = TokenRevokeResponse),
        (status = 404, description = "No valid token has this id", body = ErrorBody),
        ApiErrors,
    )
)]
pub(crate) async fn revoke_token(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<TokenRevokeResponse>, ApiError> {
    if !app.scoped_tokens.revoke(&id) {
        // It may be the token itself, which is not to be shown.
        let message = "there is no valid token of that id: it has expired, was revoked, or is another agent's; ids are listed \
                       at GET /api/v1/tokens";
        return Err(ApiError::new(StatusCode::NOT_FOUND, message));
    }
    Ok(Json(TokenRevokeResponse { message: "the token was revoked".into() }))
}
