use axum::http::Method;

use crate::tokens::Need;

/// Returns what a request needs of its token, by the route that it matches. A route that is not here needs the admin token.
pub(super) fn need(method: &Method, route: &str) -> Need {
    // Paths of files have a route for what is below them.
    let route = route.strip_suffix("{*path}").unwrap_or(route);
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    match (method.as_str(), route) {
        ("GET", "/api/v1/policy" | "/api/v1/ports" | "/api/v1/stream/ports") => Need::ReadAll,
        ("GET", "/api/v1/execs" | "/api/v1/stream/execs") => Need::ListExecs,
        ("POST", "/api/v1/execs") => Need::CreateCommands,
        (
            "GET",
            "/api/v1/execs/{id}"
            | "/api/v1/execs/{id}/io"
            | "/api/v1/stream/execs/{id}/io"
            // What is typed there is checked frame by frame.
            | "/ws/v1/execs/{id}",
        ) => Need::ReadExec,
        ("POST", "/api/v1/execs/{id}/io") => Need::TypeIntoExec,
        ("DELETE", "/api/v1/execs/{id}")
        | ("POST", "/api/v1/execs/{id}/start" | "/api/v1/execs/{id}/signal") => Need::ManageExec,
        (
            "GET",
            "/api/v1/files/" | "/api/v1/file_stat/" | "/api/v1/directories/" | "/api/v1/trees/",
        ) => Need::ReadFiles,
        ("POST" | "PUT" | "PATCH" | "DELETE", "/api/v1/files/")
        | ("POST" | "DELETE", "/api/v1/directories/")
        | ("PUT", "/api/v1/trees/") => Need::WriteFiles,
        _ => Need::Admin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_stated_needs_the_admin_token() {
        for (method, route) in [
            (Method::GET, "/api/v1/secrets"),
            (Method::DELETE, "/api/v1/execs"),
            (Method::PUT, "/api/v1/execs/{id}"),
            (Method::GET, "/api/v1/execs/{id}/other"),
            (Method::PATCH, "/api/v1/directories/"),
            (Method::GET, "/api/v1/stream/directories/watcher/{*path}"),
            (Method::OPTIONS, "/api/v1/execs"),
            (Method::GET, ""),
        ] {
            assert_eq!(need(&method, route), Need::Admin, "{method} {route}");
        }
        assert_eq!(need(&Method::HEAD, "/api/v1/files/{*path}"), Need::ReadFiles);
    }
}
