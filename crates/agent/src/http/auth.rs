use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{App, body::Query, error::ApiError, needs::need, until_ended::UntilEnded};
use crate::{
    server::Peer,
    token::Role,
    tokens::{Access, Refusal},
};

/// Lets requests with a token in their `Authorization` header through that is good for what the route needs.
pub(super) async fn by_header(State(app): State<App>, request: Request, next: Next) -> Response {
    let token = bearer(request.headers()).map(str::to_owned);
    pass(&app, token.as_deref(), request, next).await.unwrap_or_else(IntoResponse::into_response)
}

/// Lets also requests with a token in their query through: a browser can't set headers for a
/// WebSocket.
pub(super) async fn by_header_or_query(
    State(app): State<App>,
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
    let request = Request::from_parts(parts, body);
    pass(&app, token.as_deref(), request, next).await.unwrap_or_else(IntoResponse::into_response)
}

async fn pass(
    app: &App,
    token: Option<&str>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let token = token.ok_or_else(|| {
        ApiError::new(
            StatusCode::UNAUTHORIZED,
            "a token is needed: send \"Authorization: Bearer TOKEN\" with the agent's token",
        )
    })?;
    let access = access(app, token).ok_or_else(not_valid)?;
    let route = request.extensions().get().map_or("", MatchedPath::as_str);
    let need = need(request.method(), route);
    access.check(need)?;
    if let Some(peer) = request.extensions().get::<Arc<Peer>>() {
        peer.authenticate(access.role())
            .map_err(|error| ApiError::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()))?;
    }
    request.extensions_mut().insert(access.clone());
    request.extensions_mut().insert(need);
    let request = request.map(|body| UntilEnded::of(body, &access));
    tokio::select! {
        biased;
        () = access.ended() => Err(not_valid()),
        response = next.run(request) => Ok(response.map(|body| UntilEnded::of(body, &access))),
    }
}

fn access(app: &App, token: &str) -> Option<Access> {
    match app.tokens.role_of(token) {
        Some(Role::Admin) => Some(Access::Admin),
        Some(Role::ReadOnly) => Some(Access::ReadOnly),
        None => app.scoped_tokens.find(token).map(Access::Scoped),
    }
}

fn not_valid() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "the token is not one of this agent's, which makes a new one with each start unless it is \
         given one: take it from the file that the agent named when it started, or from where it \
         was given to the agent; a scoped token may have expired, been revoked, or ended with the \
         agent that made it",
    )
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Forbidden(message) => Self::new(StatusCode::FORBIDDEN, message),
            Refusal::NotFound => Self::new(StatusCode::NOT_FOUND, "there is nothing of that name"),
        }
    }
}

/// The token of `Authorization: Bearer TOKEN`. The scheme is case-insensitive (RFC 9110, 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
