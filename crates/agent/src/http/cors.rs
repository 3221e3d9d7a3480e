use std::time::Duration;

use axum::http::{
    HeaderName, HeaderValue, Method,
    header::{
        ACCEPT, ACCEPT_RANGES, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
        IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE,
    },
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
        .allow_methods([
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers([
            ACCEPT,
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_NONE_MATCH,
            IF_RANGE,
            RANGE,
            HeaderName::from_static("idempotency-key"),
        ])
        .expose_headers([ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED])
        .max_age(PREFLIGHT_AGE)
}
