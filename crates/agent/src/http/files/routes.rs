use axum::Router;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

use super::{
    action, list_directory, make_directory, put, read, remove, remove_directory, stat, trees,
    watch, write,
};
use crate::{features::Feature, http::App};

/// Where a path begins in the path of a request.
const PATH: &str = "{path}";

/// All of them.
pub(in crate::http) fn routes(app: &App) -> OpenApiRouter<App> {
    let mut router = OpenApiRouter::new();
    if app.features.has(Feature::Files) {
        add_files(app, &mut router);
    }
    if app.features.has(Feature::Watch) {
        add(&mut router, routes!(watch::watch_directory));
    }
    router
}

fn add_files(app: &App, router: &mut OpenApiRouter<App>) {
    add(
        router,
        routes!(read::read_file, write::write_file, action::act_on_file, remove::remove_file),
    );
    add(
        router,
        routes!(
            list_directory::list_directory,
            make_directory::make_directory,
            remove_directory::remove_directory
        ),
    );
    add(router, routes!(stat::stat_file));
    if app.features.has(Feature::FilesRaw) {
        add(router, routes!(put::put_file));
        add(router, routes!(trees::read_tree, trees::put_tree));
    }
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
    document.paths.merge(paths);
    *router = std::mem::take(router).merge(OpenApiRouter::from(plain));
}
