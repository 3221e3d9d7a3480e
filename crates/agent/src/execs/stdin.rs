use std::{
    io,
    sync::{Arc, atomic::Ordering},
};

use sandpipe_protocol::{ExecStatus, TerminalSize};

use super::{
    exec::Exec,
    input::{
        Closed, Input, InputStream, MAX_QUEUED_BYTES, NotQueued, NotTaken, PendingInput, StdinInput,
    },
};

/// Input that has its place: it is written, whether or not anybody waits for that.
#[derive(Debug)]
#[must_use]
pub(crate) struct Queued {
    exec: Arc<Exec>,
    input: PendingInput,
}

impl Queued {
    /// Waits until the process's pipe or terminal has all of it: as long as the process does not read.
    pub(crate) async fn taken(self) -> Result<(), InputError> {
        self.input.taken().await.map_err(|error| match error {
            NotTaken::Closed => self.exec.no_input(),
            NotTaken::Incomplete(error) => InputError::Incomplete(error),
        })
    }
}

/// Why input did not reach a process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("exec {0} has not been started: start it before sending input")]
    NotStarted(String),
    #[error("exec {id} has ended with exit code {exit_code}: it takes no input")]
    Ended { id: String, exit_code: i32 },
    #[error(
        "the standard input of exec {0} was not left open: create it with \"interactive\": true"
    )]
    NotInteractive(String),
    #[error("exec {0} has closed its standard input")]
    Closed(String),
    #[error(
        "exec {0} was stopped because the agent could not observe it any more: it takes no input"
    )]
    Unobserved(String),
    #[error("the standard input of exec {0} has been ended by an \"eof\"")]
    AtEnd(String),
    #[error(
        "exec {0} reads too slowly: {MAX_QUEUED_BYTES} bytes of input may wait for it, and this is more; \
         send it again when what was sent before has been taken"
    )]
    Full(String),
    #[error("{0}; what came before has been written to the process")]
    Incomplete(io::Error),
    #[error("exec {0} has no terminal: create it with \"pty\": true to resize it")]
    NoTerminal(String),
    #[error("{0:?} is no terminal size: it is like {{\"cols\":80,\"rows\":24}}, both at least 1")]
    Size(String),
    #[error("the terminal of exec {id} can't be resized: {error}")]
    Resize { id: String, error: io::Error },
}

impl Exec {
    /// Gives bytes for standard input their place, after all that was sent before. Where there is no
    /// room for them they are refused.
    pub(crate) fn write(self: &Arc<Self>, bytes: Vec<u8>) -> Result<Queued, InputError> {
        self.queue_input(StdinInput::Bytes(bytes))
    }

    /// The same, but waits for room.
    pub(crate) async fn write_when_there_is_room(
        self: &Arc<Self>,
        bytes: Vec<u8>,
    ) -> Result<Queued, InputError> {
        let queued = self.input()?.queue_when_there_is_room(StdinInput::Bytes(bytes)).await;
        let input = queued.map_err(|Closed| self.no_input())?;
        Ok(Queued { exec: Arc::clone(self), input })
    }

    /// Gives a stream its place: its bytes are written as they come, and as the process reads.
    pub(crate) fn write_stream(
        self: &Arc<Self>,
        stream: InputStream,
    ) -> Result<Queued, InputError> {
        self.queue_input(StdinInput::Stream(stream))
    }

    /// Ends standard input after all that was sent before. To end it once more changes nothing.
    pub(crate) async fn end_input(self: &Arc<Self>) -> Result<(), InputError> {
        let ended = match self.queue_input(StdinInput::End) {
            Ok(queued) => queued.taken().await,
            Err(error) => Err(error),
        };
        match ended {
            Err(error @ InputError::Full(_)) => Err(error),
            Err(_) if self.input_ended.load(Ordering::Acquire) => Ok(()),
            ended => ended,
        }
    }

    fn queue_input(self: &Arc<Self>, input: StdinInput) -> Result<Queued, InputError> {
        let input = self.input()?.queue(input).map_err(|error| match error {
            NotQueued::Full => InputError::Full(self.id.clone()),
            NotQueued::Closed => self.no_input(),
        })?;
        Ok(Queued { exec: Arc::clone(self), input })
    }

    fn input(&self) -> Result<Input, InputError> {
        let input = self.state().input.clone();
        input.ok_or_else(|| self.no_input())
    }

    /// Sets the size of the terminal; `size` is the JSON of a [`TerminalSize`].
    pub(crate) fn resize_as(&self, size: &str) -> Result<(), InputError> {
        let size = serde_json::from_str(size).map_err(|_| InputError::Size(size.into()))?;
        self.resize(size)
    }

    /// Sets the size of the terminal; before the start, the size that the process finds.
    pub(crate) fn resize(&self, size: TerminalSize) -> Result<(), InputError> {
        if size.cols == 0 || size.rows == 0 {
            let size = format!("{{\"cols\":{},\"rows\":{}}}", size.cols, size.rows);
            return Err(InputError::Size(size));
        }
        if !self.description.pty {
            return Err(InputError::NoTerminal(self.id.clone()));
        }
        let mut state = self.state();
        if state.status == ExecStatus::Created {
            state.size = Some(size);
            return Ok(());
        }
        let terminal = state.terminal.clone();
        drop(state);
        let Some(terminal) = terminal else {
            return Err(self.no_input());
        };
        terminal.resize(size).map_err(|error| InputError::Resize { id: self.id.clone(), error })
    }

    /// Why there is no input to write to.
    fn no_input(&self) -> InputError {
        let state = self.state();
        let id = self.id.clone();
        match (state.status.clone(), state.exit_code) {
            (ExecStatus::Created, _) => InputError::NotStarted(id),
            (_, Some(exit_code)) => InputError::Ended { id, exit_code },
            (ExecStatus::Stopped, None) => InputError::Unobserved(id),
            _ if !self.description.interactive => InputError::NotInteractive(id),
            _ if self.input_ended.load(Ordering::Acquire) => InputError::AtEnd(id),
            _ => InputError::Closed(id),
        }
    }
}
