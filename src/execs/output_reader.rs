use std::mem;

use sandpipe_protocol::ExecStdout;
use wasm_bindgen::prelude::*;

use super::follow::Follower;
use crate::closing::Cancel;
use crate::error::{Error, Result};
use crate::request::{ExecId, Operation, Request};
use crate::transport::{Body, Transport};

/// Reads the output of one exec up to its exit code.
#[derive(Debug)]
pub(super) struct OutputReader {
    transport: Transport,
    id: ExecId,
    last_sequence: i64,
    follower: Follower,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not connected yet.
    Idle(Cancel),
    Open(Body),
    /// To be told with the next read: events came before it.
    Failed(Error),
    Ended,
}

impl OutputReader {
    /// Reads the events after `last_sequence` over a connection that `cancel` ends.
    pub(super) fn new(
        transport: Transport,
        id: ExecId,
        last_sequence: i64,
        cancel: Cancel,
    ) -> Self {
        let follower = Follower::after(last_sequence);
        Self { transport, id, last_sequence, follower, state: State::Idle(cancel) }
    }

    pub(super) fn id(&self) -> &ExecId {
        &self.id
    }

    /// The exit code, once its event has been read.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.follower.exit_code()
    }

    /// The events that the next chunk completes, at least one; None at the end.
    ///
    /// # Errors
    /// The end comes after the exit code only: without it, what ended the output is an error.
    pub(super) async fn read(&mut self) -> Result<Option<Vec<ExecStdout>>> {
        loop {
            let mut body = match mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(None),
                State::Failed(error) => return Err(error),
                State::Open(body) => body,
                State::Idle(cancel) => {
                    let path = self.id.stream_path(self.last_sequence);
                    let request = Request::stream(Operation::StreamOutput, path);
                    self.transport.open(request, cancel).await?
                }
            };
            let chunk = match body.read().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Err(self.exit_code_missing(JsValue::UNDEFINED)),
                Err(Error::Closed) => return Err(Error::Closed),
                Err(broken) => return Err(self.exit_code_missing(broken.into())),
            };
            let mut events = Vec::new();
            let fed = self.follower.feed(chunk, &mut events);
            self.state = match fed {
                Err(broken) => State::Failed(broken.explain(Operation::StreamOutput, &self.id)),
                Ok(()) if self.exit_code().is_some() => State::Ended,
                Ok(()) => State::Open(body),
            };
            if !events.is_empty() {
                return Ok(Some(events));
            }
        }
    }

    fn exit_code_missing(&self, cause: JsValue) -> Error {
        let exec_id = self.id.as_str().to_owned();
        Error::ExitCodeMissing { exec_id, output: "".into(), cause }
    }
}
