//! The text frames of `GET /ws/v1/execs/{id}`.
//!
//! What the base interface lacks is the extension `attach`: output is numbered, so that a client can
//! go on after a cut without losing or repeating any, and a frame of the client's is answered, so
//! that it knows what has arrived.

use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use crate::json::{FromJson, Object, Problem, ToJson, Value};
use crate::{OutputType, TerminalSize};

/// What a client sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientMessage {
    /// What is to be done.
    #[serde(flatten)]
    pub frame: ClientFrame,
    /// Asks for an answer that carries the same number. Part of `attach`: to the base interface it
    /// means nothing, so one that is no such number is read as none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "id")]
    pub id: Option<u32>,
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Number(u32),
        Other(IgnoredAny),
    }
    Ok(match Id::deserialize(deserializer)? {
        Id::Number(id) => Some(id),
        Id::Other(_) => None,
    })
}

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
    /// Asks for nothing but the answer, also while input waits. Part of `attach`: a page is not told
    /// of a WebSocket's own pings.
    Ping,
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
        /// Its sequence number. Part of `attach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sequence: Option<u64>,
        /// When the agent read it. Part of `attach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<String>,
    },
    /// Why a frame of the client's was not obeyed.
    Error {
        /// What was wrong, and with which value.
        error: String,
        /// The number of the client's frame, if it had one. Part of `attach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u32>,
        /// The HTTP status that a request for the same would have had. Part of `attach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
    },
    /// A frame of the client's was obeyed: a process's pipe or terminal has taken all of its input.
    /// Part of `attach`.
    Done {
        /// The number of the client's frame.
        id: u32,
    },
    /// The process ended. The agent closes the connection after it.
    Exit {
        /// The process's exit code, 128 + N after death by signal N.
        exit_code: i32,
        /// The sequence number of the event that it is. Part of `attach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sequence: Option<u64>,
        /// When the agent saw the end. Part of `attach`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<String>,
    },
}

impl ToJson for ClientMessage {
    fn write(&self, json: &mut Vec<u8>) {
        let id: (&str, &dyn ToJson) = ("id", &self.id);
        match &self.frame {
            ClientFrame::Input { input } => {
                let data = Object(&[("input", input)]);
                Object(&[("type", &"input"), ("data", &data), id]).write(json);
            }
            ClientFrame::Resize(size) => {
                Object(&[("type", &"resize"), ("data", size), id]).write(json);
            }
            ClientFrame::Ping => Object(&[("type", &"ping"), id]).write(json),
        }
    }
}

impl FromJson for AgentFrame {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        let kind: String = value.field("type")?;
        let data = value.find("data")?.unwrap_or(&Value::Null);
        Ok(match kind.as_str() {
            "output" => Self::Output {
                output: data.field("output")?,
                stream: data.field("stream")?,
                sequence: data.field("sequence")?,
                timestamp: data.field("timestamp")?,
            },
            "error" => Self::Error {
                error: data.field("error")?,
                id: data.field("id")?,
                code: data.field("code")?,
            },
            "done" => Self::Done { id: data.field("id")? },
            "exit" => Self::Exit {
                exit_code: data.field("exitCode")?,
                sequence: data.field("sequence")?,
                timestamp: data.field("timestamp")?,
            },
            _ => return Err(Problem::unknown("type", &kind)),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    fn has_form<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
        frame: &T,
        form: &str,
    ) {
        assert_eq!(serde_json::to_string(frame).unwrap(), form);
        assert_eq!(&serde_json::from_str::<T>(form).unwrap(), frame);
    }

    #[test]
    fn a_clients_frames_have_the_documented_form() {
        let message = |frame, id| ClientMessage { frame, id };
        has_form(
            &message(ClientFrame::Input { input: "ls\n".into() }, None),
            r#"{"type":"input","data":{"input":"ls\n"}}"#,
        );
        has_form(
            &message(ClientFrame::Resize(TerminalSize { cols: 80, rows: 24 }), Some(7)),
            r#"{"type":"resize","data":{"cols":80,"rows":24},"id":7}"#,
        );
        has_form(&message(ClientFrame::Ping, Some(8)), r#"{"type":"ping","id":8}"#);
    }

    #[test]
    fn an_id_that_is_no_number_is_none() {
        for id in ["\"x\"", "null", "-1", "1.5", "4294967296", "[7]", "{\"id\":7}"] {
            let form = format!(r#"{{"type":"ping","id":{id}}}"#);
            let message: ClientMessage = serde_json::from_str(&form).unwrap();
            assert_eq!(message, ClientMessage { frame: ClientFrame::Ping, id: None }, "{id}");
        }
    }

    #[test]
    fn an_agents_frames_have_the_documented_form() {
        has_form(
            &AgentFrame::Output {
                output: "a".into(),
                stream: OutputType::Stdout,
                sequence: None,
                timestamp: None,
            },
            r#"{"type":"output","data":{"output":"a","stream":"stdout"}}"#,
        );
        has_form(
            &AgentFrame::Error { error: "no".into(), id: None, code: None },
            r#"{"type":"error","data":{"error":"no"}}"#,
        );
        has_form(
            &AgentFrame::Exit { exit_code: 0, sequence: None, timestamp: None },
            r#"{"type":"exit","data":{"exitCode":0}}"#,
        );
    }

    #[test]
    fn the_extension_only_adds_to_them() {
        has_form(
            &AgentFrame::Output {
                output: "a".into(),
                stream: OutputType::Stderr,
                sequence: Some(1),
                timestamp: Some("2000-01-01T00:00:00.000Z".into()),
            },
            concat!(
                r#"{"type":"output","data":{"output":"a","stream":"stderr","sequence":1,"#,
                r#""timestamp":"2000-01-01T00:00:00.000Z"}}"#
            ),
        );
        has_form(
            &AgentFrame::Error { error: "no".into(), id: Some(7), code: Some(409) },
            r#"{"type":"error","data":{"error":"no","id":7,"code":409}}"#,
        );
        has_form(&AgentFrame::Done { id: 7 }, r#"{"type":"done","data":{"id":7}}"#);
        has_form(
            &AgentFrame::Exit {
                exit_code: 0,
                sequence: Some(2),
                timestamp: Some("2000-01-01T00:00:00.000Z".into()),
            },
            concat!(
                r#"{"type":"exit","data":{"exitCode":0,"sequence":2,"#,
                r#""timestamp":"2000-01-01T00:00:00.000Z"}}"#
            ),
        );
    }
}
