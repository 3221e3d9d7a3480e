use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, select};
use js_sys::Promise;
use sandpipe_protocol::CreateExecRequest;
use wasm_bindgen::prelude::*;

use super::create::{Creation, SETTINGS, read_settings};
use super::input::{check_input, feed};
use super::ladder::Push;
use super::stop::KILL_PATIENCE;
use super::stop_requests::{StopRequest, StopRequests};
use super::wait::wait;
use super::wait_options::WaitOptions;
use super::{Execs, promise};
use crate::arguments::{Fields, string, strings, wrong};
use crate::error::{Error, Result, Stopped};
use crate::request::ExecId;
use crate::sleep::sleep;
use crate::transport::Transport;

#[wasm_bindgen]
impl Execs {
    /// Runs a command to its end. Resolves `{ exitCode, output }` whatever the exit code is.
    pub fn exec(&self, command: &JsValue, args: &JsValue, options: &JsValue) -> Promise {
        let arguments = read_arguments(command, args, options);
        let transport = self.transport.clone();
        promise(async move { exec(&transport, arguments?).await })
    }
}

struct Arguments {
    request: CreateExecRequest,
    input: Option<String>,
    options: WaitOptions,
}

fn read_arguments(command: &JsValue, args: &JsValue, options: &JsValue) -> Result<Arguments> {
    let command_text = string(command, "command")?;
    if command_text.is_empty() {
        return Err(wrong("command", "the name or path of a program", command));
    }
    let args = if args.is_undefined() { Vec::new() } else { strings(args, "args")? };
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&[&SETTINGS[..], &WaitOptions::NAMES, &["input"]].concat())?;
    let input = fields.optional("input", string)?;
    let request = CreateExecRequest {
        command: command_text,
        args,
        autostart: Some(true),
        // Without input nothing is ever sent to its stdin: without an end it could wait for ever.
        interactive: Some(input.is_some()),
        ..read_settings(&fields)?
    };
    Ok(Arguments { request, input, options: WaitOptions::read(&fields)? })
}

async fn exec(transport: &Transport, arguments: Arguments) -> Result<JsValue> {
    let Arguments { request, input, mut options } = arguments;
    if let Some(request) = options.stops.made_before() {
        return Err(never_ran(request));
    }
    let preparing = async {
        if input.is_some() {
            check_input(transport).await?;
        }
        Creation::prepare(transport, &request).await
    };
    let creation = match select(pin!(preparing), pin!(options.stops.next())).await {
        Either::Left((creation, _)) => creation?,
        Either::Right((asked, _)) => return Err(never_ran(asked)),
    };
    let (id, asked) = begin(transport, &creation, &mut options.stops).await?;
    let feeding = async {
        match &input {
            Some(input) => match feed(transport, &id, input).await {
                Ok(()) => pending().await,
                Err(error) => StopRequest::input_lost(error),
            },
            None => pending().await,
        }
    };
    let has_asked = async {
        match asked {
            Some(asked) => asked,
            None => feeding.await,
        }
    };
    wait(transport, &id, options, has_asked).await.map_err(|error| lost_sight(&id, error))
}

/// Creates the exec; also says what has asked for a stop meanwhile.
async fn begin(
    transport: &Transport,
    creation: &Creation,
    stops: &mut StopRequests,
) -> Result<(ExecId, Option<StopRequest>)> {
    let creating = pin!(creation.carry_out(transport));
    let (mut creating, mut asked) = match select(creating, pin!(stops.next())).await {
        Either::Left((exec, _)) => return Ok((ExecId::of(exec?)?, None)),
        Either::Right((asked, creating)) => (creating, asked),
    };
    // It may have begun to run. Its id is needed to stop it, however great the hurry.
    let mut patience = pin!(sleep(KILL_PATIENCE));
    loop {
        let hurry = pin!(stops.next());
        match select(creating.as_mut(), select(hurry, patience.as_mut())).await {
            Either::Left((Ok(exec), _)) => return Ok((ExecId::of(exec)?, Some(asked))),
            Either::Left((Err(error), _)) if error.is_answer() => return Err(never_ran(asked)),
            Either::Left((Err(error), _)) => return Err(creation.unknown(error)),
            Either::Right((Either::Left(_), _)) => asked.push = Push::Force,
            Either::Right((Either::Right(_), _)) => return Err(creation.unknown(never_ran(asked))),
        }
    }
}

fn never_ran(request: StopRequest) -> Error {
    Error::Stopped(Box::new(Stopped {
        exec_id: None,
        why: request.why,
        output: "".into(),
        forced: false,
        unstopped: None,
        incomplete: None,
    }))
}

/// A command that was started and can't be seen any more: the error carries its id.
fn lost_sight(id: &ExecId, error: Error) -> Error {
    if !error.is_answer() {
        return error;
    }
    Error::ExitCodeMissing {
        exec_id: id.as_str().to_owned(),
        output: "".into(),
        cause: error.to_js(),
    }
}
