use js_sys::Promise;
use sandpipe_protocol::CreateExecRequest;
use wasm_bindgen::prelude::*;

use super::create::{SETTINGS, create, read_settings};
use super::wait::{WAIT_OPTIONS, WaitOptions, wait};
use super::{Execs, promise};
use crate::arguments::{Fields, string, strings, wrong};
use crate::error::{Error, Result};
use crate::request::{ExecId, Operation};

#[wasm_bindgen]
impl Execs {
    /// Runs a command to its end. Resolves `{ exitCode, output }` whatever the exit code is.
    pub fn exec(&self, command: &JsValue, args: &JsValue, options: &JsValue) -> Promise {
        let arguments = read_arguments(command, args, options);
        let transport = self.transport.clone();
        promise(async move {
            let (request, options) = arguments?;
            let exec = create(&transport, &request).await?;
            let id = ExecId::parse(exec.id).ok_or_else(|| Error::Protocol {
                operation: Operation::CreateExec,
                problem: "the agent gave the exec no usable id".to_owned(),
                excerpt: String::new(),
            })?;
            wait(&transport, id, &options).await
        })
    }
}

fn read_arguments(
    command: &JsValue,
    args: &JsValue,
    options: &JsValue,
) -> Result<(CreateExecRequest, WaitOptions)> {
    let command_text = string(command, "command")?;
    if command_text.is_empty() {
        return Err(wrong("command", "the name or path of a program", command));
    }
    let args = if args.is_undefined() { Vec::new() } else { strings(args, "args")? };
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&[&SETTINGS[..], &WAIT_OPTIONS].concat())?;
    let request = CreateExecRequest {
        command: command_text,
        args,
        autostart: Some(true),
        // Nothing is ever sent to its stdin: without an end it could wait for ever.
        interactive: Some(false),
        ..read_settings(&fields)?
    };
    Ok((request, WaitOptions::read(&fields)?))
}
