//! A terminal at an exec: its output, its input, its exit code. What is typed goes through `write_queue.rs`, in order.

mod write_queue;

use sandpipe_protocol::TerminalSize;
use sandpipe_protocol::websocket::ClientFrame;

use crate::execs::{OutputReader, get};
use crate::websocket::connector::SocketConnector;
use crate::{Agent, Call, ExecId};

use write_queue::TerminalInput;

/// A terminal at an exec.
pub struct Terminal {
    agent: Agent,
    id: ExecId,
    connection: SocketConnector,
    input: TerminalInput,
}

impl Terminal {
    /// A terminal at an exec that exists. It connects with the first read. It fails where there is no such exec, or the
    /// agent can't be asked.
    pub fn attach(agent: &Agent, id: ExecId) -> Call<Self> {
        let agent = agent.child();
        Box::pin(async move {
            get(&agent, &id).await?;
            let connection = SocketConnector::probe(&agent).await?;
            let input = TerminalInput::new(agent.clone(), id.clone(), connection.clone());
            Ok(Self { agent, id, connection, input })
        })
    }

    /// The output from its beginning up to the exit code.
    pub fn output(&self) -> OutputReader {
        OutputReader::attached(self.agent.child(), self.id.clone(), 0, self.connection.clone())
    }

    /// Types a text, after what was typed before.
    pub fn write(&self, input: String) -> Call<()> {
        Box::pin(self.input.send(ClientFrame::Input { input }))
    }

    /// Says how large the terminal is. A newer size takes the place of one that is still to be sent.
    pub fn resize(&self, size: TerminalSize) -> Call<()> {
        Box::pin(self.input.send(ClientFrame::Resize(size)))
    }

    /// The exit code. Where the output has not been read to its end, it is waited for over a
    /// connection of its own.
    pub fn exited(&self) -> Call<i32> {
        let known = self.connection.exit_code();
        let (agent, id, connection) =
            (self.agent.child(), self.id.clone(), self.connection.sibling());
        Box::pin(async move {
            if let Some(exit_code) = known {
                return Ok(exit_code);
            }
            // The newest event and what follows: the exit code is in the last one.
            let mut reader = OutputReader::attached(agent, id, -1, connection);
            reader.drain().await?;
            reader.exit_code().ok_or_else(|| reader.exit_code_missing(None))
        })
    }

    /// Ends all connections. The command goes on.
    pub fn close(&self) {
        self.agent.http.close();
    }
}
