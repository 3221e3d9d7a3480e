use axum::Json;
use sandpipe_protocol::Health;

/// Say who answers, and what it can do.
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "getHealth",
    tag = "agent",
    security(()),
    responses((status = 200, description = "The agent is well", body = Health))
)]
pub(super) async fn health() -> Json<Health> {
    Json(Health {
        agent: "sandpipe-agent".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        // The place of the extensions: each is named here when it is there.
        features: Vec::new(),
    })
}
