//! The text frames of `GET /ws/v1/execs/{id}`.

use serde::{Deserialize, Serialize};

use crate::{OutputType, TerminalSize};

/// A frame from the client to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "lowercase")]
pub enum ClientFrame {
    /// Text for standard input.
    Input {
        /// The text.
        input: String,
    },
    /// A new terminal size.
    Resize(TerminalSize),
}

/// A frame from the agent to the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum AgentFrame {
    /// A piece of output.
    Output {
        /// The text.
        output: String,
        /// Where the process wrote it.
        stream: OutputType,
    },
    /// Why a frame of the client's was not obeyed.
    Error {
        /// What was wrong, and with which value.
        error: String,
    },
    /// The process ended. The agent closes the connection after it.
    Exit {
        /// The process's exit code, 128 + N after death by signal N.
        exit_code: i32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_documented_form() {
        let cases = [
            (
                serde_json::to_string(&ClientFrame::Input { input: "ls\n".into() }),
                r#"{"type":"input","data":{"input":"ls\n"}}"#,
            ),
            (
                serde_json::to_string(&ClientFrame::Resize(TerminalSize { cols: 80, rows: 24 })),
                r#"{"type":"resize","data":{"cols":80,"rows":24}}"#,
            ),
            (
                serde_json::to_string(&AgentFrame::Output {
                    output: "a".into(),
                    stream: OutputType::Stdout,
                }),
                r#"{"type":"output","data":{"output":"a","stream":"stdout"}}"#,
            ),
            (
                serde_json::to_string(&AgentFrame::Error { error: "no".into() }),
                r#"{"type":"error","data":{"error":"no"}}"#,
            ),
            (
                serde_json::to_string(&AgentFrame::Exit { exit_code: 0 }),
                r#"{"type":"exit","data":{"exitCode":0}}"#,
            ),
        ];
        for (frame, expected) in cases {
            assert_eq!(frame.unwrap(), expected);
        }
    }
}
