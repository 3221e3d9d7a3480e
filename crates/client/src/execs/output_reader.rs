//! Reading the output of an exec over as many connections as it takes.

use std::mem;
use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::ExecStdout;

use super::bytes::no_bytes;
use super::get::get_once;
use super::get_output;
use super::output_lost::with_circumstances;
use crate::http::{
    Idle, MediaType, OUTPUT, Pause, Request, ResponseBody, RetryContext, is_retryable,
};
use crate::output::{
    Decoder, Discard, Encoding, Follower, NextStep, OutputSink, Resume, StreamEnd, event_of,
};
use crate::websocket::connector::SocketConnector;
use crate::websocket::exec_socket::{SocketEnd, SocketOutput};
use crate::{AbortSignal, Agent, Error, ExecId, HostOutput, Operation, Result};

const OPERATION: Operation = Operation::StreamOutput;

/// Reads the output of one exec up to its exit code, over as many connections as it takes.
pub struct OutputReader {
    agent: Agent,
    id: ExecId,
    /// What it comes over, if not over streams.
    connection: Option<SocketConnector>,
    follower: Follower,
    resume: Resume,
    /// There has been a connection.
    connected: bool,
    encoding: Encoding,
    state: State,
}

enum State {
    Disconnected,
    Open(ResponseBody, Box<Decoder>),
    /// By a WebSocket; `opened_ms` by the host's clock.
    Attached {
        events: SocketOutput,
        opened_ms: f64,
    },
    /// Streams bring no more: a snapshot has the rest.
    Remaining {
        /// The exit code, should the snapshot not have it.
        exit_code: Option<i32>,
        /// What the last stream ended by.
        cause: Option<Box<Error>>,
    },
    /// What the next read fails with: events came before it.
    Failed(Box<Error>),
    Ended,
}

impl State {
    fn open(body: ResponseBody) -> Self {
        let decoder = Box::new(Decoder::of(body.media_type));
        Self::Open(body, decoder)
    }
}

impl OutputReader {
    /// Reads the events after `last_sequence`.
    pub fn new(agent: Agent, id: ExecId, last_sequence: i64) -> Self {
        let resume = Resume::new(agent.http.retry().backoff);
        let follower = Follower::after(last_sequence);
        let (connection, connected, state) = (None, false, State::Disconnected);
        let encoding = Encoding::Utf8;
        Self { agent, id, connection, follower, resume, connected, encoding, state }
    }

    /// The same with events in this encoding. An agent may have no bytes: [`Error::Unsupported`].
    pub fn in_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// The same, over a WebSocket where there can be one.
    pub(crate) fn attached(
        agent: Agent,
        id: ExecId,
        last_sequence: i64,
        connection: SocketConnector,
    ) -> Self {
        Self { connection: Some(connection), ..Self::new(agent, id, last_sequence) }
    }

    /// Reads all events of an exec that has just been created, beginning with the connection that came with it.
    pub(crate) fn of(agent: Agent, id: ExecId, output: Option<ResponseBody>) -> Self {
        let state = output.map_or(State::Disconnected, State::open);
        // Who created it is an agent: what is no answer of one's is trouble on the way.
        Self { connected: true, state, ..Self::new(agent, id, 0) }
    }

    /// Closes the connection; the next read goes on where this one was.
    pub(crate) fn suspend(&mut self) {
        if matches!(self.state, State::Open(..)) {
            self.state = State::Disconnected;
        }
    }

    /// Goes on with the newest event and what follows, whatever came before.
    fn skip_to_newest(&mut self) {
        self.follower = Follower::after(-1);
        self.state = State::Disconnected;
    }

    /// Goes on behind events that the agent does not have any more, of which the last has that number.
    pub(crate) fn skip_lost(&mut self, to: u64) {
        self.follower = Follower::after(i64::try_from(to).unwrap_or(i64::MAX));
        self.state = State::Disconnected;
    }

    /// The exec whose output it is.
    pub(crate) fn id(&self) -> &ExecId {
        &self.id
    }

    /// The exit code, once it is known.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.follower.exit_code
    }

    /// The events that the next chunk completes, at least one; None at the end.
    pub(crate) async fn read(&mut self) -> Result<Option<Vec<ExecStdout>>> {
        let mut events = Vec::new();
        Ok(self.read_into(&mut events).await?.then_some(events))
    }

    /// Gives the events that the next chunk completes, at least one, to a sink; false at the end.
    ///
    /// A read that is dropped before it is done loses what it was about to give.
    ///
    /// # Errors
    /// The end comes after the exit code only: without it, what ended the output is an error. And those
    /// of the sink.
    pub fn read_into<'a>(
        &'a mut self,
        sink: &'a mut dyn OutputSink,
    ) -> LocalBoxFuture<'a, Result<bool>> {
        Box::pin(async {
            let read = self.read_on(sink).await;
            if let (Some(connection), Some(exit_code)) = (&self.connection, self.exit_code()) {
                connection.set_exit_code(exit_code);
            }
            read
        })
    }

    async fn read_on(&mut self, sink: &mut dyn OutputSink) -> Result<bool> {
        loop {
            let before = self.follower.delivered;
            let fed = match &mut self.state {
                State::Ended => return Ok(false),
                State::Failed(error) => {
                    let error = error.clone();
                    self.state = State::Ended;
                    return Err(with_circumstances(error, &self.agent, &self.id).await);
                }
                State::Remaining { exit_code, cause } => {
                    let (exit_code, cause) = (*exit_code, cause.take());
                    self.state = State::Ended;
                    self.conclude(exit_code, cause, sink).await?;
                    return Ok(true);
                }
                State::Disconnected => {
                    if let Some(events) = self.attach().await? {
                        self.connected = true;
                        let opened_ms = self.agent.http.host().now_ms();
                        self.state = State::Attached { events, opened_ms };
                        continue;
                    }
                    let path = self.id.stream_path(self.follower.last_sequence());
                    let request = Request { accept: OUTPUT, ..Request::get(OPERATION, path) };
                    match self.agent.http.open(&request).await {
                        Ok(body) => {
                            self.connected = true;
                            self.state = State::open(body);
                        }
                        Err(error) => {
                            let refused = error.status().is_some();
                            let ending =
                                if refused { StreamEnd::Refused } else { StreamEnd::Broken };
                            self.after_disconnect(ending, Some(error)).await?;
                        }
                    }
                    continue;
                }
                State::Open(body, _)
                    if self.encoding == Encoding::Bytes && body.media_type != MediaType::Frames =>
                {
                    return Err(self.bytes_missing());
                }
                State::Open(body, decoder) => match body.read_unless_idle().await {
                    Ok(Ok(Some(chunk))) => self.follower.feed(decoder, chunk, sink),
                    Ok(Ok(None)) => {
                        self.after_disconnect(StreamEnd::Clean, None).await?;
                        continue;
                    }
                    Ok(Err(error)) => {
                        self.after_disconnect(StreamEnd::Broken, Some(error)).await?;
                        continue;
                    }
                    // It may be dead, it may be idle: another one tells.
                    Err(Idle) => {
                        self.state = State::Disconnected;
                        continue;
                    }
                },
                State::Attached { events, .. } => {
                    let arrived = {
                        let closed = pin!(self.agent.http.scope.aborted());
                        match select(pin!(events.next()), closed).await {
                            Either::Left((arrived, _)) => arrived,
                            Either::Right(_) => return Err(Error::Closed.into()),
                        }
                    };
                    let Some(arrived) = arrived else {
                        match events.end() {
                            SocketEnd::Overflow => self.state = State::Disconnected,
                            SocketEnd::Clean => {
                                self.after_disconnect(StreamEnd::Clean, None).await?;
                            }
                            SocketEnd::Broken => {
                                self.after_disconnect(StreamEnd::Broken, None).await?;
                            }
                        }
                        continue;
                    };
                    arrived
                        .into_iter()
                        .try_for_each(|event| self.follower.accept(&event_of(&event?), sink))
                }
            };
            if let Err(broken) = fed {
                self.state = State::Failed(broken.into_error(OPERATION, &self.id));
            } else if self.exit_code().is_some()
                && let State::Open(body, _) = mem::replace(&mut self.state, State::Ended)
            {
                body.finish();
            }
            if self.follower.delivered > before {
                self.resume.on_events();
                sink.flush()?;
                return Ok(true);
            }
        }
    }

    /// The agent has text alone. After some bytes it is another one than it was.
    fn bytes_missing(&mut self) -> Box<Error> {
        self.state = State::Ended;
        let has_given = self.follower.delivered > 0;
        if has_given { self.exit_code_missing(Some(no_bytes())) } else { no_bytes() }
    }

    /// Aborted: the reading ends.
    pub fn scope(&self) -> &AbortSignal {
        &self.agent.http.scope
    }

    /// Reads up to the exit code and keeps nothing: what the agent has lost meanwhile does not matter.
    pub(crate) async fn drain(&mut self) -> Result<()> {
        loop {
            match self.read_into(&mut Discard).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => match *error {
                    Error::OutputLost { .. } => self.skip_to_newest(),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Connects by a WebSocket, where the connection has one.
    async fn attach(&self) -> Result<Option<SocketOutput>> {
        let Some(connection) = &self.connection else {
            return Ok(None);
        };
        let last = self.follower.last_sequence();
        let opening = pin!(connection.open(&self.agent, &self.id, last));
        match select(pin!(self.agent.http.scope.aborted()), opening).await {
            Either::Left(_) => Err(Error::Closed.into()),
            Either::Right((events, _)) => Ok(events),
        }
    }

    /// After a connection that ended without an exit code: makes ready for the next one, or sets the
    /// exit code, or fails.
    async fn after_disconnect(
        &mut self,
        ending: StreamEnd,
        error: Option<Box<Error>>,
    ) -> Result<()> {
        let lasted_ms = match &self.state {
            State::Open(body, _) => Some(body.age_ms()),
            State::Attached { opened_ms, .. } => Some(self.agent.http.host().now_ms() - opened_ms),
            _ => None,
        };
        self.state = State::Disconnected;
        let mut error = self.check(error)?;
        let retry_after = error.as_deref().and_then(Error::retry_after_ms);
        let mut next = self.resume.on_end(ending, lasted_ms, self.agent.http.random(), retry_after);
        loop {
            match next {
                NextStep::Connect => return Ok(()),
                NextStep::Done(exit_code) => {
                    self.state = State::Remaining { exit_code, cause: error };
                    return Ok(());
                }
                NextStep::Missing | NextStep::GiveUp => return Err(self.exit_code_missing(error)),
                NextStep::Ask(pause) => {
                    self.pause(pause, error.as_deref()).await?;
                    match get_once(&self.agent, &self.id).await {
                        Ok(exec) => next = self.resume.on_status(&exec),
                        Err(unasked) => {
                            error = self.check(Some(unasked))?;
                            let retry_after = error.as_deref().and_then(Error::retry_after_ms);
                            next =
                                self.resume.on_status_error(self.agent.http.random(), retry_after);
                        }
                    }
                }
            }
        }
    }

    /// Lets an error pass that another attempt may mend.
    fn check(&mut self, error: Option<Box<Error>>) -> Result<Option<Box<Error>>> {
        let Some(error) = error else {
            return Ok(None);
        };
        // Where an agent is known to be, a page is trouble on the way to it, whatever its status.
        let is_page = match *error {
            Error::Protocol { .. } => self.connected || self.agent.was_seen(),
            Error::Http { message: None, .. } => self.connected,
            _ => false,
        };
        if is_page || is_retryable(&error) {
            return Ok(Some(error));
        }
        self.state = State::Ended;
        // A gone exec, a refused token: what becomes of the command can't be seen any more.
        let outcome_unknown = self.connected && error.is_failed_request();
        Err(if outcome_unknown { self.exit_code_missing(Some(error)) } else { error })
    }

    /// The pause before the next attempt. The caller's functions have their say.
    async fn pause(&mut self, pause: Pause, error: Option<&Error>) -> Result<()> {
        let Pause { attempt, delay_ms } = pause;
        let ended = self.exit_code_missing(None);
        let error = error.unwrap_or(&ended);
        let failed = RetryContext::new(OPERATION, attempt, error, delay_ms, true);
        match self.agent.http.retry().decide(failed).await {
            Ok(Some(delay_ms)) if delay_ms > 0.0 => self.agent.http.pause(delay_ms).await,
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.exit_code_missing(Some(error.clone().into()))),
            // The agent asks for a longer pause than is allowed.
            Err(refusal) if refusal.is_failed_request() => {
                Err(self.exit_code_missing(Some(refusal)))
            }
            Err(thrown) => Err(thrown),
        }
    }

    /// Gives the rest of the output of an exec that has ended to a sink: a snapshot shows that it is whole.
    async fn conclude(
        &mut self,
        exit_code: Option<i32>,
        cause: Option<Box<Error>>,
        sink: &mut dyn OutputSink,
    ) -> Result<()> {
        match get_output::read(&self.agent, &self.id, self.encoding, &mut self.follower, sink).await
        {
            Ok(()) => {}
            Err(error) => {
                return Err(match *error {
                    Error::Http { .. }
                    | Error::Network { .. }
                    | Error::Protocol { .. }
                    | Error::Unsupported { .. } => self.exit_code_missing(cause.or(Some(error))),
                    _ => with_circumstances(error, &self.agent, &self.id).await,
                });
            }
        }
        let exit_code = self.follower.exit_code.or(exit_code);
        let exit_code = exit_code.ok_or_else(|| self.exit_code_missing(cause))?;
        if let Some(last) = self.follower.conclude(exit_code) {
            sink.take(&event_of(&last));
        }
        sink.flush()
    }

    pub(crate) fn exit_code_missing(&self, cause: Option<Box<Error>>) -> Box<Error> {
        Box::new(Error::ExitCodeMissing {
            exec_id: self.id.as_str().to_owned(),
            output: HostOutput::default(),
            cause,
        })
    }
}
