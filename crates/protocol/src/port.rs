use serde::{Deserialize, Serialize};

use crate::json::json_object;

/// A TCP socket that listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PortInfo {
    /// Its port.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 65535))]
    pub port: u16,
    /// The address that it listens on, such as `127.0.0.1`, `0.0.0.0` or `::`.
    pub address: String,
    /// The process that has it. Left out where the agent can't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub pid: Option<u32>,
    /// The name of that process's program. Left out where the agent can't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub command: Option<String>,
    /// The id of the exec that the process belongs to. Left out where it belongs to none, or the agent can't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub exec: Option<String>,
}

/// All TCP sockets that listen, by port, then by address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PortsListResponse {
    /// The sockets.
    pub ports: Vec<PortInfo>,
}

json_object!(FromJson + ToJson for PortInfo {
    port: "port",
    address: "address",
    pid: "pid",
    command: "command",
    exec: "exec",
});

json_object!(FromJson + ToJson for PortsListResponse { ports: "ports" });
