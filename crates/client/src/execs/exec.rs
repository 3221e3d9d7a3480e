//! Running a command to its end.

use std::future::pending;
use std::pin::pin;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use sandpipe_protocol::CreateExecRequest;

use super::create::{Created, Creation};
use super::feed_stdin::{Input, check_end, feed};
use super::output_reader::OutputReader;
use super::stop::KILL_TIMEOUT_MS;
use super::stop_requests::{StopRequest, StopRequests};
use super::wait::follow_to_end;
use super::wait_options::WaitOptions;
use crate::agent::Agent;
use crate::call::{Call, call};
use crate::error::{Error, Result};
use crate::execs::id::ExecId;
use crate::execs::ladder::Trigger;
use crate::host_value::HostText;
use crate::output::transcript::ExecResult;

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
    let agent = agent.clone();
    call(async move { run(&agent, arguments).await })
}

async fn run(agent: &Agent, arguments: ExecArguments) -> Result<(ExecId, ExecResult)> {
    let ExecArguments { request, input, options } = arguments;
    let mut stops = options.stop_requests(&**agent.http.host());
    if let Some(request) = stops.already_requested() {
        return Err(request.not_started());
    }
    let preparing = async {
        if let Some(Input::WithEof(_)) = input {
            check_end(agent).await?;
        }
        Creation::prepare(agent, &request, true).await
    };
    let creation = match select(pin!(preparing), pin!(stops.next())).await {
        Either::Left((creation, _)) => creation?,
        Either::Right((asked, _)) => return Err(asked.not_started()),
    };
    let (created, asked) = begin(agent, &creation, &mut stops).await?;
    let id = ExecId::of(created.exec)?;
    let reader = OutputReader::of(agent.clone(), id.clone(), created.output);
    let fed = match (&asked, input) {
        (None, Some(input)) => Some(spawn_feed(agent.clone(), id.clone(), input)),
        _ => None,
    };
    let stop_requested = async {
        match (asked, fed) {
            (Some(asked), _) => asked,
            (None, Some(fed)) => on_feed_error(fed).await,
            (None, None) => pending().await,
        }
    };
    let outcome = follow_to_end(agent, reader, options, stops, Box::pin(stop_requested)).await;
    outcome.map(|outcome| (id.clone(), outcome)).map_err(|error| outcome_unknown(&id, error))
}

/// Feeds the input to the exec, from now on; the receiver is told if that fails.
///
/// It goes on whatever becomes of the call: an error of the caller's own leaves the command running,
/// and none or half of its input would leave it waiting.
fn spawn_feed(agent: Agent, id: ExecId, input: Input) -> oneshot::Receiver<Box<Error>> {
    let (sender, receiver) = oneshot::channel();
    let host = agent.http.host().clone();
    host.spawn(Box::pin(async move {
        if let Err(error) = feed(&agent, &id, &input).await {
            // The call may be over.
            sender.send(error).unwrap_or_default();
        }
    }));
    receiver
}

/// Resolves only if the input can't be fed.
async fn on_feed_error(fed: oneshot::Receiver<Box<Error>>) -> StopRequest {
    match fed.await {
        Ok(error) => StopRequest::input_lost(error),
        Err(oneshot::Canceled) => pending().await,
    }
}

/// Creates the exec; also says what has asked for a stop meanwhile.
async fn begin(
    agent: &Agent,
    creation: &Creation,
    stops: &mut StopRequests,
) -> Result<(Created, Option<StopRequest>)> {
    let creating = creation.carry_out(agent);
    let (creating, mut asked) = match select(creating, pin!(stops.next())).await {
        Either::Left((created, _)) => return Ok((created?, None)),
        Either::Right((asked, creating)) => (creating, asked),
    };
    // It may have begun to run. Its id is needed to stop it, however great the hurry.
    let mut creating = creation.ask_again(agent).unwrap_or(creating);
    let mut patience = agent.http.host().sleep(KILL_TIMEOUT_MS);
    loop {
        let hurry = pin!(stops.next());
        match select(&mut creating, select(hurry, &mut patience)).await {
            Either::Left((Ok(created), _)) => return Ok((created, Some(asked))),
            Either::Left((Err(error), _)) if error.is_answer() => return Err(asked.not_started()),
            Either::Left((Err(error), _)) => return Err(creation.unknown(error)),
            Either::Right((Either::Left(_), _)) => asked.trigger = Trigger::Force,
            Either::Right((Either::Right(_), _)) => {
                return Err(creation.unknown(asked.not_started()));
            }
        }
    }
}

/// A command that was started and can't be seen any more: the error carries its id.
fn outcome_unknown(id: &ExecId, error: Box<Error>) -> Box<Error> {
    if !error.is_answer() {
        return error;
    }
    Box::new(Error::ExitCodeMissing {
        exec_id: id.as_str().to_owned(),
        output: HostText::default(),
        cause: Some(error),
    })
}
