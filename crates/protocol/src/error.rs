use serde::{Deserialize, Serialize};

use crate::json::json_object;

/// The body of every error answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Error))]
pub struct ErrorBody {
    /// The HTTP status.
    pub code: u16,
    /// What was wrong, and with which value.
    pub message: String,
}

json_object!(FromJson for ErrorBody { code: "code", message: "message" });
