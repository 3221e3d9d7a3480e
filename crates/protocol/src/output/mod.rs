//! An event of output: [`ExecStdout`] as a value, [`OutputEvent`] as it came, without a copy of its text, and [`write_output`].

mod event;
mod read;
mod write;

use serde::{Deserialize, Serialize};

use crate::json::{FromJson, Problem, ToJson, Value, json_object};
pub use event::{EventTime, OutputEvent};
pub use write::write_output;

/// One piece of an exec's output. The last one carries the exit code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecStdout {
    /// Where the process wrote it.
    #[serde(rename = "type")]
    pub kind: OutputType,
    /// The text of at most 32 KiB that the process wrote: whole characters, with U+FFFD for bytes that are no UTF-8. It is empty where
    /// only a part of a character came.
    pub output: String,
    /// 1, 2, 3, … over both streams of the exec.
    pub sequence: u64,
    /// When the agent read it: RFC 3339, UTC, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(format = DateTime, nullable = false))]
    pub timestamp: Option<String>,
    /// The process's exit code, 128 + N after death by signal N. Only the last piece has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub exit_code: Option<i32>,
}

/// The stream that a process wrote to. In a pseudo-terminal everything is stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OutputType {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Events that the agent does not have any more: the data of an event named `gap`, and part of the
/// body of a 410. An extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gap {
    /// The sequence number of the first of them.
    pub from: u64,
    /// The sequence number of the last of them.
    pub to: u64,
}

json_object!(FromJson + ToJson for ExecStdout {
    kind: "type",
    output: "output",
    sequence: "sequence",
    timestamp: "timestamp",
    exit_code: "exitCode",
});

json_object!(FromJson for Gap { from: "from", to: "to" });

impl FromJson for OutputType {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        match String::from_json(value)?.as_str() {
            "stdout" => Ok(Self::Stdout),
            "stderr" => Ok(Self::Stderr),
            _ => Err(Problem::expected("\"stdout\" or \"stderr\"")),
        }
    }
}

impl ToJson for OutputType {
    fn write(&self, json: &mut Vec<u8>) {
        let kind = match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        };
        kind.write(json);
    }
}
