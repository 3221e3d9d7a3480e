use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, Method, StatusCode, header::AUTHORIZATION},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{body::Query, error::ApiError};
use crate::{
    server::Peer,
    token::{Role, Tokens},
};

/// Lets requests with a token in their `Authorization` header through. A read-only token is good for
/// what changes nothing (RFC 9110, 9.2.1).
pub(super) async fn by_header(
    State(tokens): State<Arc<Tokens>>,
    request: Request,
    next: Next,
) -> Response {
    let token = bearer(request.headers()).map(str::to_owned);
    pass(&tokens, token.as_deref(), request, next).await
}

/// Lets also requests with a token in their query through: a browser can't set headers for a
/// WebSocket.
pub(super) async fn by_header_or_query(
    State(tokens): State<Arc<Tokens>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let token = match bearer(&parts.headers) {
        Some(token) => Some(token.to_owned()),
        None => match Query::from_request_parts(&mut parts, &()).await {
            Ok(query) => query.get("token").map(str::to_owned),
            Err(error) => return error.into_response(),
        },
    };
    pass(&tokens, token.as_deref(), Request::from_parts(parts, body), next).await
}

async fn pass(tokens: &Tokens, token: Option<&str>, mut request: Request, next: Next) -> Response {
    let role = match token {
        None => Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "a token is needed: send \"Authorization: Bearer TOKEN\" with the agent's token",
        )),
        Some(token) => tokens.role_of(token).ok_or_else(|| {
            ApiError::new(
                StatusCode::UNAUTHORIZED,
                "the token is not one of this agent's, which makes a new one with each start unless it \
                 is given one: take it from the file that the agent named when it started, or from \
                 where it was given to the agent",
            )
        }),
    };
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    match role {
        Err(error) => error.into_response(),
        Ok(Role::ReadOnly) if !reads => ApiError::new(
            StatusCode::FORBIDDEN,
            "the token is read-only: it may list and get execs and read their output",
        )
        .into_response(),
        Ok(role) => {
            if let Some(peer) = request.extensions().get::<Arc<Peer>>()
                && let Err(error) = peer.authenticate(role)
            {
                let status = StatusCode::TOO_MANY_REQUESTS;
                return ApiError::new(status, error.to_string()).into_response();
            }
            request.extensions_mut().insert(role);
            next.run(request).await
        }
    }
}

/// Lets requests with the token through that may do everything.
pub(super) async fn admin_only(request: Request, next: Next) -> Response {
    if request.extensions().get() == Some(&Role::Admin) {
        return next.run(request).await;
    }
    let message = "the token is read-only: it may not read files, of which one may have the agent's own token";
    ApiError::new(StatusCode::FORBIDDEN, message).into_response()
}

/// The token of `Authorization: Bearer TOKEN`. The scheme is case-insensitive (RFC 9110, 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
