//! Running a command to its end.

use std::future::pending;
use std::pin::pin;

use futures_channel::oneshot;
use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::CreateExecRequest;

use super::bytes::check_bytes;
use super::create::{Created, Creation};
use super::feed_stdin::{PreparedInput, feed};
use super::stop::{KILL_TIMEOUT_MS, stop};
use super::{
    Ignored, Input, OutputReader, ProcessGroup, StopRequest, StopRequests, Trigger, WaitOptions,
};
use crate::error::Stopped;
use crate::output::{Encoding, Event, ExecResult, OutputSink, Transcript};
use crate::{AbortSignal, Agent, Call, Error, ExecId, HostOutput, Result};

/// A command and how to follow it.
pub struct ExecArguments {
    /// What is to be created.
    pub request: CreateExecRequest,
    /// What it is to read.
    pub input: Option<Input>,
    /// How to follow it.
    pub options: WaitOptions,
}

/// Runs a command to its end. Gives the exec as well.
pub fn exec(agent: &Agent, arguments: ExecArguments) -> Call<(ExecId, ExecResult)> {
    exec_and_tell(agent, arguments, Box::new(|_| ()))
}

/// The same; `created` is called with the exec as soon as it is known.
pub fn exec_and_tell(
    agent: &Agent,
    arguments: ExecArguments,
    created: Box<dyn FnOnce(&ExecId)>,
) -> Call<(ExecId, ExecResult)> {
    let agent = agent.clone();
    Box::pin(async move {
        let ExecArguments { request, input, options } = arguments;
        let mut stops = options.stop_requests(&**agent.http.host());
        if let Some(request) = stops.already_requested() {
            return Err(request.not_started(options.encoding));
        }
        let preparing = async {
            if options.encoding == Encoding::Bytes {
                check_bytes(&agent).await?;
            }
            let input = match input {
                Some(input) => Some(PreparedInput::new(&agent, input).await?),
                None => None,
            };
            let creation = Creation::prepare(&agent, &request, true).await?;
            Result::Ok((creation, input))
        };
        let (creation, input) = match select(pin!(preparing), pin!(stops.next())).await {
            Either::Left((prepared, _)) => prepared?,
            Either::Right((stop_request, _)) => {
                return Err(stop_request.not_started(options.encoding));
            }
        };
        let (answer, stop_request) =
            create_or_stop(&agent, &creation, options.encoding, &mut stops).await?;
        let id = ExecId::of(answer.exec)?;
        created(&id);
        let reader = OutputReader::of(agent.clone(), id.clone(), answer.output);
        let reader = reader.in_encoding(options.encoding);
        let (process_ended, end) = oneshot::channel();
        let feed_error = match (&stop_request, input) {
            (None, Some(input)) => Some(spawn_feed(agent.clone(), id.clone(), input, end)),
            _ => None,
        };
        let stop_requested = async {
            match (stop_request, feed_error) {
                (Some(stop_request), _) => stop_request,
                (None, Some(feed_error)) => on_feed_error(feed_error).await,
                (None, None) => pending().await,
            }
        };
        let encoding = options.encoding;
        let outcome = follow_to_end(&agent, reader, options, stops, Box::pin(stop_requested)).await;
        if outcome.as_ref().err().is_none_or(|error| matches!(**error, Error::Stopped(_))) {
            // There may be no input any more.
            process_ended.send(()).unwrap_or_default();
        }
        outcome
            .map(|outcome| (id.clone(), outcome))
            .map_err(|error| outcome_unknown(&id, encoding, error))
    })
}

/// Feeds the input to the exec, from now on; the receiver gets the error if that fails.
///
/// It goes on, up to the end of the process, whatever becomes of the call: an error of the caller's own leaves the
/// command running, and none or half of its input would leave it waiting.
fn spawn_feed(
    agent: Agent,
    id: ExecId,
    input: PreparedInput,
    process_ended: oneshot::Receiver<()>,
) -> oneshot::Receiver<Box<Error>> {
    let (sender, receiver) = oneshot::channel();
    let host = agent.http.host().clone();
    host.spawn(Box::pin(async move {
        let fed = match select(pin!(feed(&agent, &id, input)), process_ended).await {
            Either::Left((fed, _)) => fed,
            Either::Right((Ok(()), _)) => return,
            Either::Right((Err(oneshot::Canceled), feeding)) => feeding.await,
        };
        if let Err(error) = fed {
            // The call may be over.
            sender.send(error).unwrap_or_default();
        }
    }));
    receiver
}

/// Resolves only if the input can't be fed.
async fn on_feed_error(feed_error: oneshot::Receiver<Box<Error>>) -> StopRequest {
    match feed_error.await {
        Ok(error) => StopRequest::input_lost(error),
        Err(oneshot::Canceled) => pending().await,
    }
}

/// Creates the exec; also gives the request to stop that came meanwhile.
async fn create_or_stop(
    agent: &Agent,
    creation: &Creation,
    encoding: Encoding,
    stops: &mut StopRequests,
) -> Result<(Created, Option<StopRequest>)> {
    let creating = creation.send(agent);
    let (creating, mut stop_request) = match select(creating, pin!(stops.next())).await {
        Either::Left((created, _)) => return Ok((created?, None)),
        Either::Right((stop_request, creating)) => (creating, stop_request),
    };
    // It may have begun to run. Its id is needed to stop it, also by force.
    let mut creating = creation.ask_again(agent).unwrap_or(creating);
    let mut deadline = agent.http.host().sleep(KILL_TIMEOUT_MS);
    loop {
        let forced = pin!(stops.next());
        match select(&mut creating, select(forced, &mut deadline)).await {
            Either::Left((Ok(created), _)) => return Ok((created, Some(stop_request))),
            Either::Left((Err(error), _)) if error.is_failed_request() => {
                return Err(stop_request.not_started(encoding));
            }
            Either::Left((Err(error), _)) => return Err(creation.unknown(error)),
            Either::Right((Either::Left(_), _)) => stop_request.trigger = Trigger::Force,
            Either::Right((Either::Right(_), _)) => {
                return Err(creation.unknown(stop_request.not_started(encoding)));
            }
        }
    }
}

/// A command that was started and can't be seen any more: the error carries its id.
fn outcome_unknown(id: &ExecId, encoding: Encoding, error: Box<Error>) -> Box<Error> {
    if !error.is_failed_request() && !matches!(*error, Error::Unsupported { .. }) {
        return error;
    }
    Box::new(Error::ExitCodeMissing {
        exec_id: id.as_str().to_owned(),
        output: HostOutput::empty(encoding),
        cause: Some(error),
    })
}

/// Follows an exec from its first event to its end; stops it when the options ask for that, or `stop_requested` does.
pub(super) fn follow_to_end(
    agent: &Agent,
    mut reader: OutputReader,
    options: WaitOptions,
    mut stops: StopRequests,
    stop_requested: LocalBoxFuture<'static, StopRequest>,
) -> Call<ExecResult> {
    let agent = agent.clone();
    Box::pin(async move {
        let WaitOptions { mut listener, max_output_bytes, grace_ms, encoding, ignored, .. } =
            options;
        let id = &reader.id().clone();
        let target = ProcessGroup::new(id);
        let transcript = Transcript::new(agent.http.host(), id, encoding, max_output_bytes);
        if let Some(listener) = &mut listener {
            listener.set_encoding(encoding);
        }
        let mut recorder = OutputRecorder { transcript, ignored, listener };

        let (followed, stopped) = {
            let stopping = AbortSignal::default();
            let mut following = pin!(follow(&mut reader, &mut recorder, &stopping));
            let first = {
                match select(following.as_mut(), select(stop_requested, pin!(stops.next()))).await {
                    Either::Left((followed, _)) => Err(followed),
                    Either::Right((request, _)) => Ok(request.factor_first().0),
                }
            };
            match first {
                Err(followed) => (followed, None),
                Ok(request) => {
                    stopping.controller().abort(None);
                    let mut followed = Ok(());
                    let outcome = {
                        let ended = pin!(async { followed = following.await });
                        stop(&agent, &target, request.trigger, grace_ms, &mut stops, ended).await
                    };
                    (followed, Some((request.why, outcome)))
                }
            }
        };
        if let Some((why, outcome)) = stopped {
            let (output, kept) = recorder.transcript.output();
            return Err(Error::Stopped(Stopped {
                exec_id: Some(id.as_str().to_owned()),
                why,
                output,
                forced: outcome.forced,
                unstopped: outcome.unstopped,
                incomplete: followed.and(kept).err(),
            })
            .into());
        }
        let Err(mut error) = followed else {
            let exit_code = reader.exit_code().ok_or_else(|| reader.exit_code_missing(None))?;
            let output = recorder.transcript.whole_output()?;
            return Ok(ExecResult { exit_code, output, runs: recorder.transcript.take_runs() });
        };
        if let Error::ExitCodeMissing { output, .. } | Error::OutputLost { output, .. } =
            &mut *error
        {
            // Some of it is missing anyway.
            (*output, _) = recorder.transcript.output();
        }
        if let Some(unstopped) = error.unstopped_mut() {
            let ended = pin!(async { reader.drain().await.unwrap_or_default() });
            let outcome = stop(&agent, &target, Trigger::Stop, grace_ms, &mut stops, ended).await;
            *unstopped = outcome.unstopped;
        }
        Err(error)
    })
}

/// Reads up to the exit code, no faster than the sink takes it, unless the command is being stopped.
async fn follow(
    reader: &mut OutputReader,
    sink: &mut dyn OutputSink,
    stopping: &AbortSignal,
) -> Result<()> {
    loop {
        let has_more = reader.read_into(sink).await?;
        if let Some(settled) = sink.settled()
            && let Either::Right((outcome, _)) = select(pin!(stopping.aborted()), settled).await
        {
            outcome?;
        }
        if !has_more {
            return Ok(());
        }
    }
}

/// Keeps the text, and hands each event to a listener.
struct OutputRecorder {
    transcript: Transcript,
    ignored: Ignored,
    listener: Option<Box<dyn OutputSink>>,
}

impl OutputSink for OutputRecorder {
    fn take(&mut self, event: &Event<'_>) {
        if !self.ignored.has(event.kind) {
            self.transcript.take(event);
        }
        if let Some(listener) = &mut self.listener {
            listener.take(event);
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.transcript.flush()?;
        match &mut self.listener {
            Some(listener) => listener.flush(),
            None => Ok(()),
        }
    }

    fn settled(&mut self) -> Option<Call<()>> {
        self.listener.as_mut()?.settled()
    }
}
