use serde::{Deserialize, Serialize};

use crate::json::{ToJson, json_object};

/// Something for a running exec's terminal or standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecStdin {
    /// What `input` is.
    #[serde(rename = "type")]
    pub kind: StdinType,
    /// The text to write; for a resize, a terminal size as JSON: `{"cols":80,"rows":24}`.
    pub input: String,
}

/// What the `input` of an [`ExecStdin`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum StdinType {
    /// Text for standard input.
    Stdin,
    /// A terminal size. Only for an exec with a pseudo-terminal; before the start, it is the size that
    /// the process finds.
    Resize,
    /// The end of standard input; `input` is empty. An extension.
    Eof,
}

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TerminalSize {
    /// Columns, at least 1.
    pub cols: u16,
    /// Rows, at least 1.
    pub rows: u16,
}

json_object!(ToJson for ExecStdin { kind: "type", input: "input" });
json_object!(ToJson for TerminalSize { cols: "cols", rows: "rows" });

impl ToJson for StdinType {
    fn write(&self, json: &mut Vec<u8>) {
        let kind = match self {
            Self::Stdin => "stdin",
            Self::Resize => "resize",
            Self::Eof => "eof",
        };
        kind.write(json);
    }
}
