use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderValue, Method, StatusCode, Uri, header::CONTENT_TYPE},
    middleware::{from_fn_with_state, map_request},
    routing::get,
};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    App, Console, auth, cors, error::ApiError, execs, files, health, host, openapi::Document,
    origin, policy, ports, tokens,
};
use crate::features::Feature;

/// The whole interface, with this console. A request passes the host check, then CORS, a
/// WebSocket the origin's check, then the token's check.
pub(crate) fn router(app: App, console: Console) -> Router {
    let mut api = OpenApiRouter::new()
        .routes(routes!(execs::create::create_exec, execs::list::list_execs))
        .routes(routes!(execs::get::get_exec, execs::delete::delete_exec))
        .routes(routes!(execs::start::start_exec))
        .routes(routes!(execs::output::get_exec_output, execs::stdin::exec_exec_stdin))
        .routes(routes!(execs::stream_output::stream_exec_output))
        .routes(routes!(execs::stream_list::stream_execs_list))
        .routes(routes!(policy::policy));
    if app.features.has(Feature::Ports) {
        api = api
            .routes(routes!(ports::list::list_ports))
            .routes(routes!(ports::stream::stream_ports));
    }
    if app.features.has(Feature::Signal) {
        api = api.routes(routes!(execs::signal::signal_exec));
    }
    if app.features.has(Feature::ScopedTokens) {
        api = api
            .routes(routes!(tokens::create::create_token, tokens::list::list_tokens))
            .routes(routes!(tokens::revoke::revoke_token));
    }
    let api = api.merge(files::routes(&app));
    let api = api.route_layer(from_fn_with_state(app.clone(), auth::by_header));
    let mut websocket = OpenApiRouter::new().routes(routes!(execs::websocket::connect_to_exec));
    if app.features.has(Feature::PortForward) {
        websocket = websocket.routes(routes!(ports::forward::forward_port));
    }
    let origins: Arc<[HeaderValue]> = Arc::from(&*app.allow_origin);
    let websocket = websocket
        .route_layer(from_fn_with_state(app.clone(), auth::by_header_or_query))
        .route_layer(from_fn_with_state(origins, origin::check));
    let (router, document) = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(health::health))
        .merge(api)
        .merge(websocket)
        .split_for_parts();
    let document: Arc<str> = document.to_json().unwrap_or_default().into();

    router
        .route(
            "/openapi.json",
            get(async move || ([(CONTENT_TYPE, "application/json")], document.to_string())),
        )
        .merge(console.routes())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(cors::layer(&app.allow_origin))
        .layer(from_fn_with_state(Arc::clone(&app.hosts), host::check))
        .layer(map_request(log))
        .with_state(app)
}

async fn not_found(uri: Uri) -> ApiError {
    let path = uri.path();
    let message = format!("there is nothing at {path}: /openapi.json lists what there is");
    ApiError::new(StatusCode::NOT_FOUND, message)
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let message = format!("{method} can't be done to {}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, message)
}

/// Logs the path only, since a query may hold a token, and no id of a token, in whose place
/// somebody may have put the token.
async fn log(request: axum::extract::Request) -> axum::extract::Request {
    const TOKENS: &str = "/api/v1/tokens/";
    let path = request.uri().path();
    let path = if path.starts_with(TOKENS) { TOKENS } else { path };
    tracing::debug!(method = %request.method(), path, "request");
    request
}
