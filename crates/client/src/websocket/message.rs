//! The frames that an agent sends, without I/O.

use sandpipe_protocol::json;
use sandpipe_protocol::websocket::AgentFrame;
use sandpipe_protocol::{ExecStdout, OutputType};

use crate::output::OutputFault;
use crate::{Error, Operation, Result};

/// What a frame of the agent's says.
#[derive(Clone)]
pub(super) enum SocketEvent {
    Event(ExecStdout),
    Answer {
        id: u32,
        answer: Result<()>,
    },
    /// Events that are lost: the jump in their numbers says the same.
    Notice,
}

pub(super) fn read(text: Option<&str>) -> std::result::Result<SocketEvent, OutputFault> {
    let text = text.ok_or_else(|| OutputFault::protocol("a frame is no text", &[]))?;
    let unreadable = |problem: &str| {
        OutputFault::protocol(
            &format!("a frame is not what it should be: {problem}"),
            text.as_bytes(),
        )
    };
    let unnumbered = || unreadable("it has no sequence number");
    let frame = json::read(text.as_bytes()).map_err(|problem| unreadable(&problem.to_string()))?;
    Ok(match frame {
        AgentFrame::Output { output, stream, sequence, timestamp } => {
            SocketEvent::Event(ExecStdout {
                kind: stream,
                output,
                sequence: sequence.ok_or_else(unnumbered)?,
                timestamp,
                exit_code: None,
            })
        }
        AgentFrame::Exit { exit_code, sequence, timestamp } => SocketEvent::Event(ExecStdout {
            kind: OutputType::Stdout,
            output: String::new(),
            sequence: sequence.ok_or_else(unnumbered)?,
            timestamp,
            exit_code: Some(exit_code),
        }),
        AgentFrame::Done { id } => SocketEvent::Answer { id, answer: Ok(()) },
        AgentFrame::Error { id: None, .. } => SocketEvent::Notice,
        AgentFrame::Error { error, id: Some(id), code } => SocketEvent::Answer {
            id,
            answer: Err(Error::Http {
                operation: Operation::SendStdin,
                status: code.unwrap_or(400),
                body: error.clone(),
                message: Some(error),
                retry_after_ms: None,
                max_delay_ms: None,
                not_run: false,
            }
            .into()),
        },
    })
}
