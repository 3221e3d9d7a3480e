use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{StatusCode, header::HOST, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::error::ApiError;

/// The hosts under which the agent may be reached.
///
/// A web page whose own host name is made to resolve to the agent's address (DNS rebinding) counts as
/// the agent's own origin for the browser, but its requests still carry the page's host name. IP
/// addresses can't be rebound.
#[derive(Debug)]
pub(crate) struct HostPolicy {
    listen: IpAddr,
    /// In lower case.
    allowed: Vec<String>,
}

impl HostPolicy {
    pub(crate) fn new(listen: IpAddr, allowed: &[String]) -> Self {
        Self { listen, allowed: allowed.iter().map(|host| host.to_lowercase()).collect() }
    }

    /// Decides on the host part of a `Host` header. The port says nothing about who asks.
    fn allows(&self, host: &str) -> bool {
        let host = host.to_lowercase();
        let literal =
            host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host);
        if let Ok(ip) = literal.parse::<IpAddr>()
            && (self.listen.is_unspecified() || ip == self.listen)
        {
            return true;
        }
        let is_local = self.listen.is_loopback() || self.listen.is_unspecified();
        (host == "localhost" && is_local) || self.allowed.contains(&host)
    }
}

/// Lets only requests for an allowed host through.
pub(super) async fn check(
    State(policy): State<std::sync::Arc<HostPolicy>>,
    request: Request,
    next: Next,
) -> Response {
    match authority(&request) {
        Some(authority) if policy.allows(authority.host()) => next.run(request).await,
        Some(authority) => {
            let host = authority.host();
            let message = format!(
                "the host {host:?} is not this agent's: use its IP address, or start it with \
                 --allow-host {host}"
            );
            ApiError::new(StatusCode::FORBIDDEN, message).into_response()
        }
        // RFC 9112, 3.2: a request without a valid Host is answered with 400.
        None => ApiError::bad_request("the request has no valid Host header").into_response(),
    }
}

/// The host that a request is for. RFC 9112, 3.2.2: a target in absolute form counts instead of the
/// Host header.
pub(super) fn authority(request: &Request) -> Option<Authority> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.clone());
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next()?;
    if hosts.next().is_some() {
        return None;
    }
    host.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(listen: &str, host: &str) -> bool {
        let allowed = ["Agent.Example".to_owned()];
        HostPolicy::new(listen.parse().unwrap(), &allowed).allows(host)
    }

    #[test]
    fn the_listening_address_and_allowed_names_are_let_through() {
        assert!(allows("127.0.0.1", "127.0.0.1"));
        assert!(allows("127.0.0.1", "localhost"));
        assert!(allows("127.0.0.1", "agent.example"));
        assert!(allows("127.0.0.1", "AGENT.example"));
        assert!(allows("::1", "[::1]"));
        assert!(allows("0.0.0.0", "192.0.2.7"));
        assert!(allows("::", "[2001:db8::1]"));
        assert!(allows("0.0.0.0", "localhost"));
    }

    #[test]
    fn other_names_are_refused() {
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            assert!(!allows("127.0.0.1", host), "{host}");
            assert!(!allows("0.0.0.0", host), "{host}");
        }
        assert!(!allows("127.0.0.1", "192.0.2.7"));
        assert!(!allows("192.0.2.7", "localhost"));
    }
}
