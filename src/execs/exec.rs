use std::future::pending;
use std::pin::pin;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use js_sys::Promise;
use sandpipe_protocol::CreateExecRequest;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::Execs;
use super::create::{Created, Creation, SETTINGS, read_settings};
use super::input::{Input, check_end, feed};
use super::output_reader::OutputReader;
use super::stop::KILL_PATIENCE;
use super::stop_requests::{StopRequest, StopRequests};
use super::wait::wait;
use super::wait_options::WaitOptions;
use crate::arguments::{Fields, command_arguments, program, string};
use crate::promise::promise;
use crate::request::ExecId;
use crate::sleep::sleep;
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::execs::ladder::Trigger;
use sandpipe_client::host_value::HostText;

#[wasm_bindgen]
impl Execs {
    /// Runs a command to its end. Resolves `{ exitCode, output }` whatever the exit code is.
    pub fn exec(&self, command: &JsValue, args: &JsValue, options: &JsValue) -> Promise {
        let arguments = read_arguments(command, args, options);
        let transport = self.transport.clone();
        promise(async move {
            let (_, outcome) = exec(&transport, arguments?).await?;
            Ok(outcome)
        })
    }
}

/// A command and how to follow it.
pub(super) struct Arguments {
    pub(super) request: CreateExecRequest,
    pub(super) input: Option<Input>,
    pub(super) options: WaitOptions,
}

fn read_arguments(command: &JsValue, args: &JsValue, options: &JsValue) -> Result<Arguments> {
    let command = program(command, "command")?;
    let args = if args.is_undefined() { Vec::new() } else { command_arguments(args, "args")? };
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&[&SETTINGS[..], &WaitOptions::NAMES, &["input"]].concat())?;
    let input = fields.optional("input", string)?.map(Input::ToItsEnd);
    let request = CreateExecRequest {
        command,
        args,
        autostart: Some(true),
        // Without input nothing is ever sent to its stdin: without an end it could wait for ever.
        interactive: Some(input.is_some()),
        ..read_settings(&fields)?
    };
    Ok(Arguments { request, input, options: WaitOptions::read(&fields)? })
}

/// Runs it to its end. Gives `{ exitCode, output }` as well.
pub(super) async fn exec(transport: &Transport, arguments: Arguments) -> Result<(ExecId, JsValue)> {
    let Arguments { request, input, mut options } = arguments;
    if let Some(request) = options.stops.made_before() {
        return Err(request.never_ran());
    }
    let preparing = async {
        if let Some(Input::ToItsEnd(_)) = input {
            check_end(transport).await?;
        }
        Creation::prepare(transport, &request, true).await
    };
    let creation = match select(pin!(preparing), pin!(options.stops.next())).await {
        Either::Left((creation, _)) => creation?,
        Either::Right((asked, _)) => return Err(asked.never_ran()),
    };
    let (created, asked) = begin(transport, &creation, &mut options.stops).await?;
    let id = ExecId::of(created.exec)?;
    let reader = OutputReader::of(transport.clone(), id.clone(), created.output);
    let fed = match (&asked, input) {
        (None, Some(input)) => Some(begin_to_feed(transport.clone(), id.clone(), input)),
        _ => None,
    };
    let has_asked = async {
        match (asked, fed) {
            (Some(asked), _) => asked,
            (None, Some(fed)) => input_lost(fed).await,
            (None, None) => pending().await,
        }
    };
    let outcome = wait(transport, reader, options, pin!(has_asked)).await;
    outcome.map(|outcome| (id.clone(), outcome)).map_err(|error| lost_sight(&id, error))
}

/// Feeds the input to the exec, from now on; the receiver is told if that fails.
///
/// It goes on whatever becomes of the call: an error of the caller's own leaves the command running,
/// and none or half of its input would leave it waiting.
fn begin_to_feed(transport: Transport, id: ExecId, input: Input) -> oneshot::Receiver<Box<Error>> {
    let (tell, told) = oneshot::channel();
    spawn_local(async move {
        if let Err(error) = feed(&transport, &id, &input).await {
            // The call may be over.
            tell.send(error).unwrap_or_default();
        }
    });
    told
}

/// Resolves only if the input can't be fed.
async fn input_lost(fed: oneshot::Receiver<Box<Error>>) -> StopRequest {
    match fed.await {
        Ok(error) => StopRequest::input_lost(error),
        Err(oneshot::Canceled) => pending().await,
    }
}

/// Creates the exec; also says what has asked for a stop meanwhile.
async fn begin(
    transport: &Transport,
    creation: &Creation,
    stops: &mut StopRequests,
) -> Result<(Created, Option<StopRequest>)> {
    let creating = pin!(creation.carry_out(transport));
    let (creating, mut asked) = match select(creating, pin!(stops.next())).await {
        Either::Left((created, _)) => return Ok((created?, None)),
        Either::Right((asked, creating)) => (creating, asked),
    };
    // It may have begun to run. Its id is needed to stop it, however great the hurry.
    let mut creating = pin!(match creation.ask_again(transport) {
        Some(again) => Either::Left(again),
        None => Either::Right(creating),
    });
    let mut patience = pin!(sleep(KILL_PATIENCE));
    loop {
        let hurry = pin!(stops.next());
        match select(creating.as_mut(), select(hurry, patience.as_mut())).await {
            Either::Left((Ok(created), _)) => return Ok((created, Some(asked))),
            Either::Left((Err(error), _)) if error.is_answer() => return Err(asked.never_ran()),
            Either::Left((Err(error), _)) => return Err(creation.unknown(error)),
            Either::Right((Either::Left(_), _)) => asked.trigger = Trigger::Force,
            Either::Right((Either::Right(_), _)) => return Err(creation.unknown(asked.never_ran())),
        }
    }
}

/// A command that was started and can't be seen any more: the error carries its id.
fn lost_sight(id: &ExecId, error: Box<Error>) -> Box<Error> {
    if !error.is_answer() {
        return error;
    }
    Box::new(Error::ExitCodeMissing {
        exec_id: id.as_str().to_owned(),
        output: HostText::default(),
        cause: Some(error),
    })
}
