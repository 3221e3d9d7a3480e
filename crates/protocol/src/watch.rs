use serde::{Deserialize, Serialize};

use crate::json::{FromJson, Problem, Value, json_object};

/// Something that happened in a directory that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WatcherEvent {
    /// What it happened to: absolute paths. What is not UTF-8 in them is U+FFFD.
    pub paths: Vec<String>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: WatcherEventType,
    /// When: RFC 3339, UTC.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub timestamp: String,
    /// The same paths percent-encoded, where one is not UTF-8 (extension `watch`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub raw: Option<Vec<String>>,
    /// What is wrong, of an error (extension `watch`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub message: Option<String>,
}

/// What can happen in a directory that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WatcherEventType {
    /// Something new is there.
    Add,
    /// Something is gone.
    Remove,
    /// A file has been written to, or its attributes are others.
    Change,
    /// Something has another name: from the first path to the second (extension `watch`).
    Rename,
    /// Events were lost: the directory has to be looked at (extension `watch`).
    Overflow,
    /// All watches are set: what changes from now on is told.
    #[serde(rename = "connected")]
    Connected,
    /// Nothing more is told.
    #[serde(rename = "error")]
    Error,
}

json_object!(FromJson for WatcherEvent {
    paths: "paths",
    kind: "type",
    timestamp: "timestamp",
    raw: "raw",
    message: "message",
});

impl FromJson for WatcherEventType {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        let name = String::from_json(value)?;
        Ok(match name.as_str() {
            "ADD" => Self::Add,
            "REMOVE" => Self::Remove,
            "CHANGE" => Self::Change,
            "RENAME" => Self::Rename,
            "OVERFLOW" => Self::Overflow,
            "connected" => Self::Connected,
            "error" => Self::Error,
            _ => return Err(Problem::unknown("type", &name)),
        })
    }
}
