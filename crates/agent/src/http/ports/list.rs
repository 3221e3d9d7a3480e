use axum::{Json, extract::State};
use sandpipe_protocol::PortsListResponse;

use crate::http::{
    App,
    error::ApiError,
    execs::responses::{ApiErrors, Failed},
};

/// List the TCP ports that are listened on where commands run, without the agent's own.
///
/// `pid`, `command` and `exec` are of the process that has the socket, and the exec that it belongs to, where that can be told.
#[utoipa::path(
    get,
    path = "/api/v1/ports",
    operation_id = "listPorts",
    tag = "ports",
    responses(
        (status = 200, description = "The ports", body = PortsListResponse),
        ApiErrors, Failed,
    )
)]
pub(crate) async fn list_ports(
    State(app): State<App>,
) -> Result<Json<PortsListResponse>, ApiError> {
    Ok(Json(app.ports.list().await?))
}
