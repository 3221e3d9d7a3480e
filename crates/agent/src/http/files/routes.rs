use axum::{Router, middleware::from_fn};
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

use super::{read, stat};
use crate::http::{App, auth};

/// Where a path begins in the path of a request.
const PATH: &str = "{path}";

/// All of them. What is in a file is for who may do everything alone: under the policy `open` it may be the agent's token.
pub(in crate::http) fn routes(_app: &App) -> OpenApiRouter<App> {
    let mut router = OpenApiRouter::new();
    add(&mut router, routes!(read::read_file));
    add(&mut router, routes!(stat::stat_file));
    router.route_layer(from_fn(auth::admin_only))
}

/// Adds handlers whose path is whatever follows, slashes included, and may be empty. The document has it as one parameter.
fn add(router: &mut OpenApiRouter<App>, (schemas, paths, methods): UtoipaMethodRouter<App>) {
    let mut plain = Router::new();
    for path in paths.paths.keys() {
        let before = path.strip_suffix(PATH).unwrap_or(path);
        plain = plain.route(&format!("{before}{{*path}}"), methods.clone());
        plain = plain.route(before, methods.clone());
    }
    let document = router.get_openapi_mut();
    document.components.get_or_insert_default().schemas.extend(schemas);
    document.paths.paths.extend(paths.paths);
    *router = std::mem::take(router).merge(OpenApiRouter::from(plain));
}
