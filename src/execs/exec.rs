use std::pin::pin;

use futures_util::future::{Either, select};
use js_sys::Promise;
use sandpipe_protocol::CreateExecRequest;
use wasm_bindgen::prelude::*;

use super::create::{SETTINGS, create, read_settings};
use super::input::{check_input, feed};
use super::ladder::Rung;
use super::stop::next_push;
use super::stop_requests::{StopRequest, StopRequests};
use super::terminate::terminate;
use super::wait::wait;
use super::wait_options::WaitOptions;
use super::{Execs, promise};
use crate::arguments::{Fields, string, strings, wrong};
use crate::error::{Error, Result, Stopped};
use crate::request::ExecId;
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
    if input.is_some() {
        check_input(transport).await?;
    }
    let grace_ms = options.grace_ms;
    let (id, asked) = begin(transport, &request, &mut options).await?;
    let ended = pin!(wait(transport, &id, options, asked));
    let Some(input) = input else {
        return ended.await.map_err(|error| lost_sight(&id, error));
    };
    match select(ended, pin!(feed(transport, &id, &input))).await {
        Either::Left((result, _)) => result.map_err(|error| lost_sight(&id, error)),
        Either::Right((Ok(()), ended)) => ended.await.map_err(|error| lost_sight(&id, error)),
        // Half of its input is worse than none.
        Either::Right((Err(error), _)) => {
            let mut requests = StopRequests::default();
            terminate(transport, &id, grace_ms, &mut requests).await.ok();
            Err(error)
        }
    }
}

/// Creates the exec; also says what has asked for a stop meanwhile.
async fn begin(
    transport: &Transport,
    request: &CreateExecRequest,
    options: &mut WaitOptions,
) -> Result<(ExecId, Option<StopRequest>)> {
    let creating = pin!(create(transport, request));
    let (creating, asked) = match select(creating, pin!(options.stops.next())).await {
        Either::Left((exec, _)) => return Ok((ExecId::of(exec?)?, None)),
        Either::Right((asked, creating)) => (creating, asked),
    };
    // It may have begun to run: its id is needed to stop it.
    let hurry = pin!(next_push(Rung::Terminate, options.grace_ms, &mut options.stops));
    match select(creating, hurry).await {
        Either::Left((Ok(exec), _)) => Ok((ExecId::of(exec)?, Some(asked))),
        Either::Left((Err(unknown @ Error::CreateUnknown { .. }), _)) => Err(unknown),
        Either::Left((Err(_), _)) => Err(never_ran(asked)),
        Either::Right(_) => Err(Error::CreateUnknown {
            command: request.command.clone(),
            cause: Box::new(never_ran(asked)),
        }),
    }
}

fn never_ran(request: StopRequest) -> Error {
    Error::Stopped(Box::new(Stopped {
        exec_id: None,
        why: request.why,
        output: "".into(),
        forced: false,
        unstopped: None,
    }))
}

/// A command that was started and can't be seen any more: the error carries its id.
fn lost_sight(id: &ExecId, error: Error) -> Error {
    match error {
        Error::Http { .. } | Error::Network { .. } => Error::ExitCodeMissing {
            exec_id: id.as_str().to_owned(),
            output: "".into(),
            cause: error.to_js(),
        },
        error => error,
    }
}
