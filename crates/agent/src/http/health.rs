use axum::{Json, extract::State};
use sandpipe_protocol::Health;

use super::App;

/// Say who answers, and what it can do.
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "getHealth",
    tag = "agent",
    security(()),
    responses((status = 200, description = "The agent is well", body = Health))
)]
pub(super) async fn health(State(app): State<App>) -> Json<Health> {
    Json(Health {
        agent: "sandpipe-agent".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        policy: Some(app.policies.own().name().into()),
        features: app.features.names(),
    })
}
