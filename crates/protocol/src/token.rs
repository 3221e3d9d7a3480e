use serde::{Deserialize, Serialize};

use crate::json::json_object;

/// What a scoped token may do, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateTokenRequest {
    /// How long the token is valid, in milliseconds: at most 2,592,000,000, which is 30 days.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 2_592_000_000_u64))]
    pub expires_in_ms: u32,
    /// The ids of execs that it may read: what they are, and their output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub read_execs: Option<Vec<String>>,
    /// The ids of execs that it may type into: their input and the size of their terminal. It may read them, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub type_into: Option<Vec<String>>,
    /// Whether it may create commands. It may read, type into, signal and delete those that it has created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub create_commands: Option<bool>,
    /// The directory below which it may read and list files. The directory must exist, and its path must have no symbolic link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub read_files: Option<String>,
    /// The directory below which it may write, move and remove files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub write_files: Option<String>,
}

/// A scoped token that was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedToken {
    /// Its id, by which it is listed and revoked. It is no secret.
    pub id: String,
    /// The token. The agent keeps only a hash of it, so this is the only time that it is shown.
    pub token: String,
    /// When it expires: RFC 3339, UTC.
    pub expires_at: String,
}

/// A valid scoped token, without the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenInfo {
    /// Its id.
    pub id: String,
    /// When it was created: RFC 3339, UTC.
    pub created_at: String,
    /// When it expires: RFC 3339, UTC.
    pub expires_at: String,
    /// The ids of execs that it may read. Left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub read_execs: Option<Vec<String>>,
    /// The ids of execs that it may type into and read. Left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub type_into: Option<Vec<String>>,
    /// True if it may create commands, else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub create_commands: Option<bool>,
    /// The directory below which it may read files. Left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub read_files: Option<String>,
    /// The directory below which it may write files. Left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub write_files: Option<String>,
}

/// All valid scoped tokens, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenListResponse {
    /// The tokens.
    pub tokens: Vec<TokenInfo>,
}

/// The answer to a revocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenRevokeResponse {
    /// What was done.
    pub message: String,
}

json_object!(ToJson for CreateTokenRequest {
    expires_in_ms: "expiresInMs",
    read_execs: "readExecs",
    type_into: "typeInto",
    create_commands: "createCommands",
    read_files: "readFiles",
    write_files: "writeFiles",
});

json_object!(FromJson + ToJson for CreatedToken {
    id: "id",
    token: "token",
    expires_at: "expiresAt",
});

json_object!(FromJson + ToJson for TokenInfo {
    id: "id",
    created_at: "createdAt",
    expires_at: "expiresAt",
    read_execs: "readExecs",
    type_into: "typeInto",
    create_commands: "createCommands",
    read_files: "readFiles",
    write_files: "writeFiles",
});

json_object!(FromJson + ToJson for TokenListResponse { tokens: "tokens" });
