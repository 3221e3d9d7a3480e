use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{
        HeaderValue, StatusCode, Uri,
        header::ORIGIN,
        uri::{Authority, Scheme},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{error::ApiError, host::authority};

/// Lets only those WebSockets through that a page of the agent's own origin opens, one of an allowed origin, or no page. Browsers ask
/// nobody before they open one (RFC 6455, 10.2), as they do for other requests.
pub(super) async fn check(
    State(allowed): State<Arc<[HeaderValue]>>,
    request: Request,
    next: Next,
) -> Response {
    let mut origins = request.headers().get_all(ORIGIN).iter();
    let refused = origins.find(|origin| !may_connect(origin, authority(&request), &allowed));
    match refused {
        None => next.run(request).await,
        Some(origin) => {
            let origin = String::from_utf8_lossy(origin.as_bytes());
            let message = format!(
                "pages of the origin {origin:?} may not use this agent: start it with --allow-origin {origin}"
            );
            ApiError::new(StatusCode::FORBIDDEN, message).into_response()
        }
    }
}

fn may_connect(origin: &HeaderValue, host: Option<Authority>, allowed: &[HeaderValue]) -> bool {
    allowed.iter().any(|allowed| allowed == "*" || allowed == origin)
        || host.is_some_and(|host| is_own(origin, &host))
}

/// Returns whether an origin is that of the host that a request is for. Before what ends TLS the agent does not know the scheme.
fn is_own(origin: &HeaderValue, host: &Authority) -> bool {
    let Some(origin) = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()) else {
        return false;
    };
    let default_port = if origin.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(default_port);
    origin.scheme().is_some()
        && origin.authority().is_some_and(|own| {
            own.host().eq_ignore_ascii_case(host.host()) && port(own) == port(host)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(origin: &str, host: &str, allowed: &[&str]) -> bool {
        let allowed: Vec<_> = allowed.iter().map(|origin| origin.parse().unwrap()).collect();
        may_connect(&origin.parse().unwrap(), host.parse().ok(), &allowed)
    }

    #[test]
    fn pages_of_the_agent_and_of_allowed_origins_may_connect() {
        for (origin, host) in [
            ("http://127.0.0.1:4000", "127.0.0.1:4000"),
            ("http://LOCALHOST:4000", "localhost:4000"),
            ("http://[::1]:4000", "[::1]:4000"),
            ("https://agent.example", "agent.example"),
            ("https://agent.example", "agent.example:443"),
            ("http://agent.example", "agent.example:80"),
        ] {
            assert!(may(origin, host, &[]), "{origin} {host}");
        }
        assert!(may(
            "https://a.example",
            "127.0.0.1:4000",
            &["https://b.example", "https://a.example"]
        ));
        for origin in ["https://evil.example", "null"] {
            assert!(may(origin, "127.0.0.1:4000", &["*"]), "{origin}");
        }
    }

    #[test]
    fn pages_of_other_origins_may_not() {
        for origin in [
            "https://evil.example",
            "http://127.0.0.1:4001",
            "http://127.0.0.1",
            "http://127.0.0.1.evil.example:4000",
            "http://localhost:4000",
            "127.0.0.1:4000",
            "null",
            "",
        ] {
            assert!(!may(origin, "127.0.0.1:4000", &["https://a.example"]), "{origin}");
        }
        assert!(!may("https://a.example:8443", "127.0.0.1:4000", &["https://a.example"]));
    }
}
