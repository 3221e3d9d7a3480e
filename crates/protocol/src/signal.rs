use serde::{Deserialize, Serialize};

use crate::json::json_object;

/// A signal for an exec's whole process group. An extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignalRequest {
    /// A signal's name, such as `SIGTERM`; `0` only asks whether a process of the group is left
    /// (POSIX, `kill`, "the null signal").
    pub signal: String,
}

json_object!(ToJson for SignalRequest { signal: "signal" });
