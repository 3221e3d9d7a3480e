use std::mem;

use js_sys::Math;
use sandpipe_protocol::{ExecItem, ExecStdout};
use wasm_bindgen::prelude::*;

use super::follow::Follower;
use super::get_output;
use super::resume::{Ending, Next, Resume};
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::request::{ExecId, Request, read_json};
use crate::retry::{Failure, is_worth_repeating};
use crate::transport::{Body, Silent, Transport};

const OPERATION: Operation = Operation::StreamOutput;

/// Reads the output of one exec up to its exit code, over as many connections as it takes.
#[derive(Debug)]
pub(super) struct OutputReader {
    transport: Transport,
    id: ExecId,
    follower: Follower,
    resume: Resume,
    /// There has been a connection.
    connected: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not connected.
    Idle,
    Open(Body),
    /// Complete; these events have still to be told.
    Concluded(Vec<ExecStdout>),
    /// To be told with the next read: events came before it.
    Failed(Error),
    Ended,
}

impl OutputReader {
    /// Reads the events after `last_sequence`.
    pub(super) fn new(transport: Transport, id: ExecId, last_sequence: i64) -> Self {
        let resume = Resume::new(transport.retry().backoff);
        let follower = Follower::after(last_sequence);
        Self { transport, id, follower, resume, connected: false, state: State::Idle }
    }

    /// The exit code, once it is known.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.follower.exit_code()
    }

    /// The events that the next chunk completes, at least one; None at the end.
    ///
    /// A read that is dropped before it is done loses what it was about to give.
    ///
    /// # Errors
    /// The end comes after the exit code only: without it, what ended the output is an error.
    pub(super) async fn read(&mut self) -> Result<Option<Vec<ExecStdout>>> {
        loop {
            match &mut self.state {
                State::Ended => return Ok(None),
                State::Failed(error) => {
                    let error = error.clone();
                    self.state = State::Ended;
                    return Err(error);
                }
                State::Concluded(last) => {
                    let last = mem::take(last);
                    self.state = State::Ended;
                    return Ok(Some(last));
                }
                State::Idle => {
                    let path = self.id.stream_path(self.follower.last_sequence());
                    let request = Request::stream(OPERATION, path);
                    match self.transport.open(&request).await {
                        Ok(body) => {
                            self.connected = true;
                            self.state = State::Open(body);
                        }
                        Err(error) => self.go_on(Ending::Broken, Some(error)).await?,
                    }
                }
                State::Open(body) => {
                    let chunk = match body.read_unless_silent().await {
                        Ok(Ok(Some(chunk))) => chunk,
                        Ok(Ok(None)) => {
                            self.go_on(Ending::Clean, None).await?;
                            continue;
                        }
                        Ok(Err(error)) => {
                            self.go_on(Ending::Broken, Some(error)).await?;
                            continue;
                        }
                        // It may be dead, it may be idle: another one tells.
                        Err(Silent) => {
                            self.disconnect();
                            continue;
                        }
                    };
                    let mut events = Vec::new();
                    let fed = self.follower.feed(chunk, &mut events);
                    if let Err(broken) = fed {
                        self.state = State::Failed(broken.explain(OPERATION, &self.id));
                    } else if self.exit_code().is_some() {
                        self.state = State::Ended;
                    }
                    if !events.is_empty() {
                        self.resume.brought_events();
                        return Ok(Some(events));
                    }
                }
            }
        }
    }

    /// After a connection that ended without an exit code: makes ready for the next one, or sets the
    /// exit code, or fails.
    async fn go_on(&mut self, ending: Ending, error: Option<Error>) -> Result<()> {
        self.disconnect();
        let mut error = self.check(error)?;
        let retry_after = error.as_ref().and_then(Error::retry_after_ms);
        let mut next = self.resume.ended(ending, Math::random(), retry_after);
        loop {
            match next {
                Next::Connect => return Ok(()),
                Next::Done(exit_code) => {
                    let last = self.conclude(exit_code).await?;
                    self.state = State::Concluded(last);
                    return Ok(());
                }
                Next::Missing | Next::GiveUp => return Err(self.exit_code_missing(error)),
                Next::Ask { delay_ms, failures } => {
                    self.pause(failures, delay_ms, error.as_ref()).await?;
                    match self.ask().await {
                        Ok(exec) => next = self.resume.told(&exec),
                        Err(not_told) => {
                            let not_told = self.check(Some(not_told))?;
                            let retry_after = not_told.as_ref().and_then(Error::retry_after_ms);
                            next = self.resume.not_told(Math::random(), retry_after);
                            error = not_told;
                        }
                    }
                }
            }
        }
    }

    /// Lets an error pass that another attempt may mend.
    fn check(&mut self, error: Option<Error>) -> Result<Option<Error>> {
        match error {
            None => Ok(None),
            Some(passing) if is_worth_repeating(&passing) => Ok(Some(passing)),
            Some(page @ Error::Protocol { .. }) if self.transport.is_known() => Ok(Some(page)),
            Some(error) => {
                self.state = State::Ended;
                let is_answer = matches!(error, Error::Http { .. } | Error::Protocol { .. });
                // A gone exec, a refused token: what becomes of the command can't be seen any more.
                let lost_sight = self.connected && is_answer;
                Err(if lost_sight { self.exit_code_missing(Some(error)) } else { error })
            }
        }
    }

    /// The pause before the next attempt. The caller's functions have their say.
    async fn pause(&mut self, failures: u32, delay_ms: f64, error: Option<&Error>) -> Result<()> {
        let ended = self.exit_code_missing(None);
        let error = error.unwrap_or(&ended);
        let failure = Failure { operation: OPERATION, attempt: failures, error, delay_ms };
        match self.transport.retry().verdict(&failure, true).await? {
            Some(delay_ms) if delay_ms > 0.0 => self.transport.pause(delay_ms).await,
            Some(_) => Ok(()),
            None => Err(self.exit_code_missing(Some(error.clone()))),
        }
    }

    async fn ask(&self) -> Result<ExecItem> {
        let operation = Operation::GetExec;
        let request = Request::get(operation, self.id.path(""));
        read_json(operation, &self.transport.send_once(&request).await?)
    }

    /// The rest of the output of an exec that has ended, where the streams bring no more: a snapshot
    /// shows that it is whole.
    async fn conclude(&mut self, exit_code: i32) -> Result<Vec<ExecStdout>> {
        let mut rest = Vec::new();
        let last = self.follower.last_sequence();
        let told = get_output::read(&self.transport, &self.id, last, |events| {
            rest.extend_from_slice(events);
            Ok(())
        });
        match told.await {
            Ok(told) => {
                let end = self.follower.conclude(&rest, told.unwrap_or(exit_code));
                rest.extend(end);
                Ok(rest)
            }
            Err(error @ (Error::Closed | Error::OutputLost { .. })) => Err(error),
            Err(error) => Err(self.exit_code_missing(Some(error))),
        }
    }

    fn disconnect(&mut self) {
        self.state = State::Idle;
        self.follower.disconnected();
    }

    pub(super) fn exit_code_missing(&self, cause: Option<Error>) -> Error {
        Error::ExitCodeMissing {
            exec_id: self.id.as_str().to_owned(),
            output: "".into(),
            cause: cause.map_or(JsValue::UNDEFINED, JsValue::from),
        }
    }
}
