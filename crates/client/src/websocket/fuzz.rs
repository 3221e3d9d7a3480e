//! The frames of a WebSocket, for the fuzz targets.

use sandpipe_protocol::ExecStdout;

use super::message::{SocketEvent, read};

/// What a frame of the agent's says.
#[derive(Debug, PartialEq, Eq)]
pub enum AgentSays {
    /// A piece of output.
    Event(ExecStdout),
    /// What became of the client's frame of this number; the message is that of the error.
    Answer(u32, Result<(), String>),
    /// Nothing that matters.
    Remark,
    /// Nothing that could be read.
    Unreadable,
}

/// Reads a text frame.
pub fn read_frame(text: &str) -> AgentSays {
    match read(Some(text)) {
        Ok(SocketEvent::Event(event)) => AgentSays::Event(event),
        Ok(SocketEvent::Answer { id, answer }) => {
            AgentSays::Answer(id, answer.map_err(|error| error.to_string()))
        }
        Ok(SocketEvent::Notice) => AgentSays::Remark,
        Err(_) => AgentSays::Unreadable,
    }
}
