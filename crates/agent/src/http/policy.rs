use axum::{Json, extract::State};
use serde_json::Value;

use super::{App, execs::responses::ApiErrors};

/// Get the policy: what commands may touch.
#[utoipa::path(
    get,
    path = "/api/v1/policy",
    operation_id = "getPolicy",
    tag = "agent",
    responses((
        status = 200,
        description = "The presets that it is made of, all rules for files with where they come from, the network, the environment, and the limits",
        body = Object
    ), ApiErrors)
)]
pub(super) async fn policy(State(app): State<App>) -> Json<Value> {
    // Its keys are texts, and its values no floating-point numbers that JSON lacks.
    Json(serde_json::to_value(app.policies.own()).unwrap_or_default())
}
