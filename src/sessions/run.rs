use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::pin::pin;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, Shared, select};
use js_sys::{Function, Promise};
use sandpipe_protocol::ExecStdout;
use wasm_bindgen::prelude::*;

use super::interrupt::Interruption;
use super::markers::{Markers, Nonce};
use super::shell::{Shell, State};
use super::turns::Turn;
use super::{Session, over, script};
use crate::arguments::string;
use crate::error::{Error, OutputLimit, Result, Stopped, Unstopped, Why};
use crate::execs::delete::delete;
use crate::execs::event_list::EventList;
use crate::execs::follow::written;
use crate::execs::input::feed_on;
use crate::execs::ladder::Push;
use crate::execs::output_reader::OutputReader;
use crate::execs::promise;
use crate::execs::sink::Sink;
use crate::execs::stop_requests::{StopRequest, StopRequests};
use crate::execs::transcript::Transcript;
use crate::execs::wait_options::WaitOptions;
use crate::operation::Operation;
use crate::request::ExecId;

#[wasm_bindgen]
impl Session {
    /// Runs a script when those before it are done. Resolves `{ exitCode, output }`.
    pub fn run(&self, script: &JsValue, options: &JsValue) -> Promise {
        let arguments =
            read_script(script).and_then(|script| Ok((script, WaitOptions::of(options)?)));
        // Now: the order is that of the calls.
        let turn = self.0.turns.take();
        let session = self.clone();
        promise(async move {
            let (script, options) = arguments?;
            session.run_in_turn(turn, &script, options).await
        })
    }
}

fn read_script(value: &JsValue) -> Result<String> {
    let script = string(value, "script")?;
    if script.contains('\0') {
        return Err(Error::InvalidArgument {
            name: "script".to_owned(),
            expected: "text without NUL".to_owned(),
            actual: "text with one, which no shell can read".to_owned(),
        });
    }
    Ok(script)
}

impl Session {
    async fn run_in_turn(
        &self,
        turn: impl Future<Output = Option<Turn>>,
        script: &str,
        mut options: WaitOptions,
    ) -> Result<JsValue> {
        if let Some(request) = options.stops.made_before() {
            return Err(request.never_ran());
        }
        let turn = match select(pin!(turn), pin!(options.stops.next())).await {
            Either::Left((turn, _)) => turn,
            Either::Right((asked, _)) => return Err(asked.never_ran()),
        };
        let mut shell = self.take_shell()?;
        let (result, over) = shell.run(script, options).await;
        self.give_back(match over {
            None => State::Ready(shell),
            Some(reason) => State::Over(reason),
        });
        drop(turn);
        match result {
            // It is this session that was closed, not the sandbox.
            Err(Error::Closed) if !self.0.outer.in_flight.is_closed() => {
                Err(self.over("it was closed"))
            }
            result => result,
        }
    }
}

/// How a run came to its end.
enum End {
    /// The shell is ready for the next one.
    Ready,
    /// The shell itself ended.
    Shell(i32),
    /// It can't be followed any further.
    Lost(Error),
    /// The fate of a piece of the script is not known: sent again, it could be run twice.
    InputLost(Error),
    /// The script went on whatever was done.
    Unstoppable,
}

/// What asks for a script to be stopped.
enum Asked {
    By(StopRequest),
    /// More output than is allowed, or the caller's function threw.
    Failure(Error),
}

impl Shell {
    /// Runs one script. Also says why the session is over with it, if it is.
    async fn run(
        &mut self,
        script: &str,
        options: WaitOptions,
    ) -> (Result<JsValue>, Option<String>) {
        let WaitOptions { on_output, max_output_bytes, grace_ms, mut stops } = options;
        let nonce = Nonce::new();
        let line = script::run(&nonce, script, self.last_exit_code);
        let output = Output {
            id: self.id.clone(),
            markers: RefCell::new(Markers::new(&nonce)),
            transcript: RefCell::new(Transcript::new(&self.id, max_output_bytes)),
            listener: on_output,
        };
        let forced = Cell::new(false);
        let (mut end, asked) = {
            let (announce, begun) = oneshot::channel();
            let (fail, failed) = oneshot::channel();
            let begun = begun.shared();
            let Self { transport, id, pid, user, reader, unread, .. } = &mut *self;
            let following = output.follow(reader, unread, Some(announce), Some(fail));
            let talking = async {
                feed_on(transport, id, &line).await?;
                has_begun(begun.clone()).await;
                feed_on(transport, id, &script::end(&nonce, 0)).await
            };
            // In a box: it is polled in two places, and would be compiled into both.
            let mut conversation = converse(following, talking).boxed_local();
            let asked = {
                let asking = pin!(ask(&mut stops, failed));
                match select(&mut conversation, asking).await {
                    Either::Left((end, _)) => Err(end),
                    Either::Right((asked, _)) => Ok(asked),
                }
            };
            match asked {
                Err(end) => (end, None),
                Ok(asked) => {
                    let first = match &asked {
                        Asked::By(request) => request.push,
                        Asked::Failure(_) => Push::Stop,
                    };
                    let interruption = Interruption {
                        transport,
                        id,
                        pid: *pid,
                        user: user.as_deref(),
                        nonce: &nonce,
                        markers: &output.markers,
                        forced: &forced,
                    };
                    let interrupting =
                        interruption.climb(has_begun(begun.clone()), first, grace_ms, &mut stops);
                    let end = match select(conversation, pin!(interrupting)).await {
                        Either::Left((end, _)) => end,
                        Either::Right(((), _)) => End::Unstoppable,
                    };
                    (end, Some(asked))
                }
            }
        };
        let begun = output.markers.borrow().begun();
        if let End::Shell(exit_code) = end
            && !begun
        {
            let reason = format!("its shell ended with exit code {exit_code} before this run");
            end = End::Lost(over(&self.id, &reason));
        }
        let reason = end.over();
        let unstopped = match end {
            End::InputLost(_) | End::Unstoppable => self.kill().await.err(),
            End::Ready | End::Shell(_) | End::Lost(_) => None,
        };
        if matches!(end, End::Ready) {
            self.last_exit_code = output.exit_code().unwrap_or_default();
        }
        let forced = forced.get() || matches!(end, End::Unstoppable);
        (output.result(end, asked, forced, unstopped), reason)
    }

    /// Ends the shell and everything in its group.
    async fn kill(&self) -> std::result::Result<(), Unstopped> {
        delete(&self.transport, &self.id).await.map_err(Unstopped::Undelivered)
    }
}

/// Resolves when the script has begun.
async fn has_begun(begun: Shared<oneshot::Receiver<()>>) {
    if begun.await.is_err() {
        // It never will: the output has ended.
        pending::<()>().await;
    }
}

/// Follows the output while the script is sent.
async fn converse(
    following: impl Future<Output = End>,
    talking: impl Future<Output = Result<()>>,
) -> End {
    let talking = async {
        match talking.await {
            Ok(()) => pending().await,
            Err(error) => error,
        }
    };
    match select(pin!(following), pin!(talking)).await {
        Either::Left((end, _)) => end,
        Either::Right((Error::Closed, _)) => End::Lost(Error::Closed),
        Either::Right((error, _)) => End::InputLost(error),
    }
}

async fn ask(stops: &mut StopRequests, failed: oneshot::Receiver<Error>) -> Asked {
    let failed = async {
        match failed.await {
            Ok(error) => error,
            Err(_) => pending().await,
        }
    };
    match select(pin!(stops.next()), pin!(failed)).await {
        Either::Left((request, _)) => Asked::By(request),
        Either::Right((error, _)) => Asked::Failure(error),
    }
}

/// The output of one run.
struct Output {
    id: ExecId,
    markers: RefCell<Markers>,
    transcript: RefCell<Transcript>,
    listener: Option<Function>,
}

impl Output {
    /// Reads up to the end of the run. `announce` is told that the script has begun, `fail` why its
    /// output is of no use any more; it is followed to its end all the same.
    async fn follow(
        &self,
        reader: &mut OutputReader,
        unread: &mut Vec<ExecStdout>,
        mut announce: Option<oneshot::Sender<()>>,
        mut fail: Option<oneshot::Sender<Error>>,
    ) -> End {
        loop {
            let events = match std::mem::take(unread) {
                read if !read.is_empty() => read,
                _ => match reader.read().await {
                    Ok(Some(events)) => events,
                    Ok(None) => return End::Shell(reader.exit_code().unwrap_or_default()),
                    Err(error) => return End::Lost(error),
                },
            };
            let mut events = events.into_iter();
            let told = self.take(&mut events);
            *unread = events.collect();
            if self.markers.borrow().begun()
                && let Some(announce) = announce.take()
            {
                // Nobody may be waiting any more.
                announce.send(()).unwrap_or_default();
            }
            if let Some(fail_now) = fail.take() {
                match self.tell(&told) {
                    Ok(()) => fail = Some(fail_now),
                    Err(error) => drop(fail_now.send(error)),
                }
            }
            if self.markers.borrow().passed_over() {
                let output = self.transcript.borrow_mut().text().as_string().unwrap_or_default();
                let reason = format!("its shell could not read a script: {}", output.trim());
                return End::Lost(over(&self.id, &reason));
            }
            if self.markers.borrow().over() {
                reader.suspend();
                return End::Ready;
            }
        }
    }

    /// What of the events is the script's output, up to its end.
    fn take(&self, events: &mut impl Iterator<Item = ExecStdout>) -> Vec<ExecStdout> {
        let mut markers = self.markers.borrow_mut();
        let mut told = Vec::new();
        for mut event in events {
            event.output = markers.feed(event.kind, &event.output);
            if event.exit_code.is_some() {
                event.output.push_str(&markers.rest(event.kind));
            }
            if !event.output.is_empty() || event.exit_code.is_some() {
                told.push(event);
            }
            if markers.over() {
                break;
            }
        }
        told
    }

    fn tell(&self, events: &[ExecStdout]) -> Result<()> {
        let mut list = EventList::default();
        {
            let mut transcript = self.transcript.borrow_mut();
            for event in events {
                let written = written(event, |event| {
                    transcript.take(event);
                    list.take(event);
                });
                written.map_err(|broken| broken.explain(Operation::StreamOutput, &self.id))?;
            }
            transcript.end_batch()?;
        }
        match &self.listener {
            Some(listener) => list.tell(listener),
            None => Ok(()),
        }
    }

    fn exit_code(&self) -> Option<i32> {
        self.markers.borrow().exit_code()
    }

    /// What the caller is told.
    fn result(
        &self,
        end: End,
        asked: Option<Asked>,
        forced: bool,
        unstopped: Option<Unstopped>,
    ) -> Result<JsValue> {
        let output = self.transcript.borrow_mut().text();
        let unstopped = unstopped.map(Box::new);
        let stopped = |why, unstopped, incomplete: Option<Error>| {
            Err(Error::Stopped(Box::new(Stopped {
                exec_id: Some(self.id.as_str().to_owned()),
                why,
                output: output.clone(),
                forced,
                unstopped,
                incomplete: incomplete.map(Box::new),
            })))
        };
        match (asked, end) {
            (_, End::Lost(Error::Closed)) => Err(Error::Closed),
            (Some(Asked::By(request)), End::Lost(error) | End::InputLost(error)) => {
                stopped(request.why, unstopped, Some(error))
            }
            (Some(Asked::By(request)), _) => stopped(request.why, unstopped, None),
            (Some(Asked::Failure(error)), _) => Err(match error {
                Error::OutputLimit {
                    exec_id,
                    limit: limit @ OutputLimit::Bytes(_),
                    output,
                    ..
                } => Error::OutputLimit { exec_id, limit, output, unstopped },
                error => error,
            }),
            (None, End::Ready | End::Unstoppable) => match self.exit_code() {
                Some(exit_code) => self.transcript.borrow_mut().outcome(Some(exit_code)),
                None => Err(over(&self.id, "its shell did not say how the script ended")),
            },
            (None, End::Shell(exit_code)) => self.transcript.borrow_mut().outcome(Some(exit_code)),
            (None, End::InputLost(error)) => {
                stopped(Why::InputLost { error: Box::new(error) }, unstopped, None)
            }
            (None, End::Lost(Error::ExitCodeMissing { exec_id, cause, .. })) => {
                Err(Error::ExitCodeMissing { exec_id, output, cause })
            }
            (None, End::Lost(error)) => Err(error),
        }
    }
}

impl End {
    /// Why the session is over, if it is.
    fn over(&self) -> Option<String> {
        match self {
            Self::Ready => None,
            Self::Shell(exit_code) => Some(format!(
                "its shell ended with exit code {exit_code} in a run before: by `exit`, `exec`, a \
                 signal, or a failure under `set -e`"
            )),
            Self::Lost(Error::Session { reason, .. }) => {
                Some(reason.trim_start_matches("this session is over: ").to_owned())
            }
            Self::Lost(error) => Some(format!("its output could not be followed: {error}")),
            Self::InputLost(error) => {
                Some(format!("a script could not be delivered, and its shell was killed: {error}"))
            }
            Self::Unstoppable => {
                Some("a script could not be interrupted, and its shell was killed".to_owned())
            }
        }
    }
}
