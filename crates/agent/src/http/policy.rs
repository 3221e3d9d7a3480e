use axum::{Extension, Json, extract::State};
use serde_json::Value;

use super::{App, execs::responses::ApiErrors};
use crate::tokens::Access;

/// Get the policy: what commands may touch.
#[utoipa::path(
    get,
    path = "/api/v1/policy",
    operation_id = "getPolicy",
    tag = "agent",
    responses((
        status = 200,
        description = "The presets that it is made of, all rules for files with where they come from, the network, the environment, and the limits. A read-only token gets null for the values of variables",
        body = Object
    ), ApiErrors)
)]
pub(super) async fn policy(
    State(app): State<App>,
    Extension(access): Extension<Access>,
) -> Json<Value> {
    // Its keys are texts, and its values no floating-point numbers that JSON lacks.
    let mut policy = serde_json::to_value(app.policies.own()).unwrap_or_default();
    // One may be a secret that commands are to have.
    if !matches!(access, Access::Admin)
        && let Some(set) = policy.get_mut("set").and_then(Value::as_object_mut)
    {
        set.values_mut().for_each(|value| *value = Value::Null);
    }
    Json(policy)
}
