use std::mem;
use std::pin::pin;

use futures_util::future::{Either, select};
use js_sys::{Date, Math};
use sandpipe_protocol::ExecStdout;

use super::follow::{Follower, written};
use super::get::get_once;
use super::get_output;
use super::output_lost::with_exit_code;
use super::resume::{Ending, Next, Resume};
use super::sink::Sink;
use crate::abort::Abort;
use crate::closing::Cancel;
use crate::request::{ExecId, Request};
use crate::retry::{Failure, is_worth_repeating};
use crate::terminal::{Ended, Events, Line};
use crate::transport::{Body, Silent, Transport};
use sandpipe_client::error::{Error, Result};
use sandpipe_client::host_value::HostText;
use sandpipe_client::http::reconnect::Pause;
use sandpipe_client::operation::Operation;

const OPERATION: Operation = Operation::StreamOutput;

/// Reads the output of one exec up to its exit code, over as many connections as it takes.
#[derive(Debug)]
pub(crate) struct OutputReader {
    transport: Transport,
    id: ExecId,
    /// What it comes over, if not over streams.
    line: Option<Line>,
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
    Attached(Attached),
    /// Complete; these events have still to be told.
    Concluded(Vec<ExecStdout>),
    /// To be told with the next read: events came before it.
    Failed(Box<Error>),
    Ended,
}

/// Connected by a WebSocket.
#[derive(Debug)]
struct Attached {
    events: Events,
    closing: Abort,
    /// When it was connected, in milliseconds.
    opened: f64,
    /// What `closing` waits for as long as it is there.
    _cancel: Cancel,
}

impl OutputReader {
    /// Reads the events after `last_sequence`.
    pub(crate) fn new(transport: Transport, id: ExecId, last_sequence: i64) -> Self {
        let resume = Resume::new(transport.retry().backoff);
        let follower = Follower::after(last_sequence);
        let (line, connected, state) = (None, false, State::Idle);
        Self { transport, id, line, follower, resume, connected, state }
    }

    /// The same, over a line.
    pub(crate) fn attached(
        transport: Transport,
        id: ExecId,
        last_sequence: i64,
        line: Line,
    ) -> Self {
        Self { line: Some(line), ..Self::new(transport, id, last_sequence) }
    }

    /// Reads all events, beginning with a connection that there is already.
    pub(crate) fn of(transport: Transport, id: ExecId, output: Option<Body>) -> Self {
        let connected = output.is_some();
        let state = output.map_or(State::Idle, State::Open);
        Self { connected, state, ..Self::new(transport, id, 0) }
    }

    /// Closes the connection; the next read goes on where this one was.
    pub(crate) fn suspend(&mut self) {
        if matches!(self.state, State::Open(_)) {
            self.disconnect();
        }
    }

    /// Goes on with the newest event and what follows, whatever came before.
    pub(super) fn skip_to_newest(&mut self) {
        self.follower = Follower::after(-1);
        self.state = State::Idle;
    }

    /// The exec whose output it is.
    pub(crate) fn id(&self) -> &ExecId {
        &self.id
    }

    /// The exit code, once it is known.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.follower.exit_code()
    }

    /// The events that the next chunk completes, at least one; None at the end.
    ///
    /// # Errors
    /// As those of [`OutputReader::read_into`].
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
    pub(crate) async fn read_into(&mut self, sink: &mut dyn Sink) -> Result<bool> {
        loop {
            let before = self.follower.given();
            let fed = match &mut self.state {
                State::Ended => return Ok(false),
                State::Failed(error) => {
                    let error = error.clone();
                    self.state = State::Ended;
                    return Err(with_exit_code(error, &self.transport, &self.id).await);
                }
                State::Concluded(last) => {
                    let last = mem::take(last);
                    self.state = State::Ended;
                    last.iter()
                        .try_for_each(|event| written(event, sink))
                        .map_err(|broken| broken.explain(OPERATION, &self.id))?;
                    sink.end_batch()?;
                    return Ok(true);
                }
                State::Idle => {
                    if let Some(attached) = self.attach().await? {
                        self.connected = true;
                        self.state = State::Attached(attached);
                        continue;
                    }
                    let path = self.id.stream_path(self.follower.last_sequence());
                    let request = Request::stream(OPERATION, path);
                    match self.transport.open(&request).await {
                        Ok(body) => {
                            self.connected = true;
                            self.state = State::Open(body);
                        }
                        Err(error) => {
                            let refused = error.status().is_some();
                            let ending = if refused { Ending::Refused } else { Ending::Broken };
                            self.go_on(ending, Some(error)).await?;
                        }
                    }
                    continue;
                }
                State::Open(body) => match body.read_unless_silent().await {
                    Ok(Ok(Some(chunk))) => self.follower.feed(chunk, sink),
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
                },
                State::Attached(Attached { events, closing, .. }) => {
                    let arrived = match select(pin!(events.next()), pin!(closing.aborted())).await {
                        Either::Left((arrived, _)) => arrived,
                        Either::Right(_) => return Err(Error::Closed.into()),
                    };
                    let Some(arrived) = arrived else {
                        match events.ended() {
                            Ended::Overflow => self.disconnect(),
                            Ended::Clean => self.go_on(Ending::Clean, None).await?,
                            Ended::Broken => self.go_on(Ending::Broken, None).await?,
                        }
                        continue;
                    };
                    arrived
                        .into_iter()
                        .try_for_each(|event| self.follower.feed_event(&event?, sink))
                }
            };
            if let Err(broken) = fed {
                self.state = State::Failed(broken.explain(OPERATION, &self.id));
            } else if self.exit_code().is_some()
                && let State::Open(body) = mem::replace(&mut self.state, State::Ended)
            {
                body.finish();
            }
            if self.follower.given() > before {
                self.resume.on_events();
                sink.end_batch()?;
                return Ok(true);
            }
        }
    }

    /// Connects by a WebSocket, where the line has one.
    async fn attach(&self) -> Result<Option<Attached>> {
        let Some(line) = &self.line else {
            return Ok(None);
        };
        let cancel = self.transport.in_flight.begin()?;
        let mut closing = Abort::listen(cancel.signal());
        let last = self.follower.last_sequence();
        let opening = pin!(line.open(&self.transport, &self.id, last));
        let events = match select(opening, pin!(closing.aborted())).await {
            Either::Left((events, _)) => events,
            Either::Right(_) => return Err(Error::Closed.into()),
        };
        let opened = Date::now();
        Ok(events.map(|events| Attached { events, closing, opened, _cancel: cancel }))
    }

    /// After a connection that ended without an exit code: makes ready for the next one, or sets the
    /// exit code, or fails.
    async fn go_on(&mut self, ending: Ending, error: Option<Box<Error>>) -> Result<()> {
        let lasted_ms = match &self.state {
            State::Open(body) => Some(body.age()),
            State::Attached(attached) => Some(Date::now() - attached.opened),
            _ => None,
        };
        self.disconnect();
        let mut error = self.check(error)?;
        let retry_after = error.as_deref().and_then(Error::retry_after_ms);
        let mut next = self.resume.on_end(ending, lasted_ms, Math::random(), retry_after);
        loop {
            match next {
                Next::Connect => return Ok(()),
                Next::Done(exit_code) => {
                    let last = self.conclude(exit_code, error).await?;
                    self.state = State::Concluded(last);
                    return Ok(());
                }
                Next::Missing | Next::GiveUp => return Err(self.exit_code_missing(error)),
                Next::Ask(pause) => {
                    self.pause(pause, error.as_deref()).await?;
                    match get_once(&self.transport, &self.id).await {
                        Ok(exec) => next = self.resume.on_status(&exec),
                        Err(unasked) => {
                            error = self.check(Some(unasked))?;
                            let retry_after = error.as_deref().and_then(Error::retry_after_ms);
                            next = self.resume.on_status_error(Math::random(), retry_after);
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
            Error::Protocol { .. } => self.connected || self.transport.is_known(),
            Error::Http { message: None, .. } => self.connected,
            _ => false,
        };
        if is_page || is_worth_repeating(&error) {
            return Ok(Some(error));
        }
        self.state = State::Ended;
        // A gone exec, a refused token: what becomes of the command can't be seen any more.
        let outcome_unknown = self.connected && error.is_answer();
        Err(if outcome_unknown { self.exit_code_missing(Some(error)) } else { error })
    }

    /// The pause before the next attempt. The caller's functions have their say.
    async fn pause(&mut self, pause: Pause, error: Option<&Error>) -> Result<()> {
        let Pause { attempt, delay_ms } = pause;
        let ended = self.exit_code_missing(None);
        let error = error.unwrap_or(&ended);
        let failure = Failure { operation: OPERATION, attempt, error, delay_ms };
        match self.transport.retry().verdict(&failure, true).await {
            Ok(Some(delay_ms)) if delay_ms > 0.0 => self.transport.pause(delay_ms).await,
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.exit_code_missing(Some(error.clone().into()))),
            // The agent asks for a longer pause than is allowed.
            Err(refusal) if refusal.is_answer() => Err(self.exit_code_missing(Some(refusal))),
            Err(thrown) => Err(thrown),
        }
    }

    /// The rest of the output of an exec that has ended, where the streams bring no more: a snapshot
    /// shows that it is whole. `cause` is what the last stream ended by.
    async fn conclude(
        &mut self,
        exit_code: Option<i32>,
        cause: Option<Box<Error>>,
    ) -> Result<Vec<ExecStdout>> {
        let mut rest: Vec<ExecStdout> = Vec::new();
        let last = self.follower.last_sequence();
        match get_output::read(&self.transport, &self.id, last, &mut rest).await {
            Ok(told) => {
                let exit_code = told.or(exit_code).ok_or_else(|| self.exit_code_missing(cause))?;
                rest.extend(self.follower.conclude(&rest, exit_code));
                Ok(rest)
            }
            Err(error) => Err(match *error {
                Error::Closed => error,
                Error::OutputLost { .. } => with_exit_code(error, &self.transport, &self.id).await,
                _ => self.exit_code_missing(cause.or(Some(error))),
            }),
        }
    }

    fn disconnect(&mut self) {
        self.state = State::Idle;
        self.follower.disconnected();
    }

    pub(crate) fn exit_code_missing(&self, cause: Option<Box<Error>>) -> Box<Error> {
        Box::new(Error::ExitCodeMissing {
            exec_id: self.id.as_str().to_owned(),
            output: HostText::default(),
            cause,
        })
    }
}
