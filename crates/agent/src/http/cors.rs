use std::time::Duration;

use axum::http::{
    HeaderName, HeaderValue, Method,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser may keep the answer to a preflight.
const PREFLIGHT_AGE: Duration = Duration::from_mins(10);

/// Tells browsers that pages of these origins may use the agent (Fetch Standard, 3.3). It answers
/// preflights, which carry no token.
pub(super) fn layer(allowed: &[HeaderValue]) -> CorsLayer {
    let origin = if allowed.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(allowed.iter().cloned())
    };
    CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            ACCEPT,
            AUTHORIZATION,
            CONTENT_TYPE,
            HeaderName::from_static("idempotency-key"),
        ])
        .max_age(PREFLIGHT_AGE)
}
