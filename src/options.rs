//! What the calls of the nouns take, read from the values of JS.

use sandpipe_client::abort::AbortSignal;
use sandpipe_client::error::Result;
use sandpipe_protocol::{CreateExecRequest, ExecStdin, StdinType};
use wasm_bindgen::prelude::*;

use crate::arguments::{
    Fields, abort_signal, boolean, bytes, command_arguments, function, milliseconds, program,
    shell_text, string, variables, wrong,
};
use crate::web::events::Listener;
use sandpipe_client::execs::exec::ExecArguments;
use sandpipe_client::execs::feed_stdin::Input;
use sandpipe_client::execs::terminate::TerminateOptions;
use sandpipe_client::execs::wait_options::{DEFAULT_GRACE_MS, WaitOptions};
use sandpipe_client::sessions::create::SessionOptions;

/// Reads the request of `execs.create()`.
pub(crate) fn create_request(value: &JsValue) -> Result<CreateExecRequest> {
    let fields = Fields::of(value, "request")?;
    fields.only(&["command", "args", "autostart", "interactive", "pty", "cwd", "env", "user"])?;
    Ok(CreateExecRequest {
        command: fields.required("command", program)?,
        args: fields.required("args", command_arguments)?,
        autostart: fields.optional("autostart", boolean)?,
        interactive: fields.optional("interactive", boolean)?,
        ..read_settings(&fields)?
    })
}

/// The names of the fields that [`read_settings`] reads.
const SETTINGS: [&str; 4] = ["cwd", "env", "pty", "user"];

/// What `create` and `exec` both take.
fn read_settings(fields: &Fields<'_>) -> Result<CreateExecRequest> {
    Ok(CreateExecRequest {
        cwd: fields.optional("cwd", shell_text)?,
        env: fields.optional("env", variables)?,
        pty: fields.optional("pty", boolean)?,
        user: fields.optional("user", shell_text)?,
        ..CreateExecRequest::default()
    })
}

/// Reads the arguments of `execs.exec()`.
pub(crate) fn exec_arguments(
    command: &JsValue,
    args: &JsValue,
    options: &JsValue,
) -> Result<ExecArguments> {
    let command = program(command, "command")?;
    let args = if args.is_undefined() { Vec::new() } else { command_arguments(args, "args")? };
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&[&SETTINGS[..], &WAIT_OPTIONS, &["input"]].concat())?;
    let input = fields.optional("input", string)?.map(Input::WithEof);
    let request = CreateExecRequest {
        command,
        args,
        autostart: Some(true),
        // Without input nothing is ever sent to its stdin: without an end it could wait for ever.
        interactive: Some(input.is_some()),
        ..read_settings(&fields)?
    };
    Ok(ExecArguments { request, input, options: read_wait_options(&fields)? })
}

/// The names of the fields that [`read_wait_options`] reads.
const WAIT_OPTIONS: [&str; 6] =
    ["signal", "forceSignal", "timeoutMs", "graceMs", "onOutput", "maxOutputBytes"];

/// Reads the options of `execs.wait()`.
pub(crate) fn wait_options(value: &JsValue) -> Result<WaitOptions> {
    let fields = Fields::of_optional(value, "options")?;
    fields.only(&WAIT_OPTIONS)?;
    read_wait_options(&fields)
}

fn read_wait_options(fields: &Fields<'_>) -> Result<WaitOptions> {
    let on_output = fields.optional("onOutput", function)?;
    Ok(WaitOptions {
        listener: on_output.map(|function| Box::new(Listener::new(function)) as _),
        max_output_bytes: fields.optional("maxOutputBytes", bytes)?,
        grace_ms: grace(fields)?,
        signal: fields.optional("signal", abort_signal)?,
        force_signal: fields.optional("forceSignal", abort_signal)?,
        timeout_ms: fields.optional("timeoutMs", milliseconds)?,
    })
}

/// Reads the options of `execs.terminate()`.
pub(crate) fn terminate_options(value: &JsValue) -> Result<TerminateOptions> {
    let fields = Fields::of_optional(value, "options")?;
    fields.only(&["graceMs", "forceSignal"])?;
    let grace_ms = grace(&fields)?;
    Ok(TerminateOptions { grace_ms, force_signal: fields.optional("forceSignal", abort_signal)? })
}

/// Reads `graceMs`.
fn grace(fields: &Fields<'_>) -> Result<f64> {
    Ok(fields.optional("graceMs", milliseconds)?.unwrap_or(DEFAULT_GRACE_MS))
}

/// Reads the script of `sandbox.run()` and the signal that stops it.
pub(crate) fn run_arguments(
    script: &JsValue,
    options: &JsValue,
) -> Result<(String, Option<AbortSignal>)> {
    let script = shell_text(script, "script")?;
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&["signal"])?;
    Ok((script, fields.optional("signal", abort_signal)?))
}

/// Reads the body of `execs.sendStdin()`.
pub(crate) fn stdin_body(value: &JsValue) -> Result<ExecStdin> {
    let fields = Fields::of(value, "body")?;
    fields.only(&["type", "input"])?;
    Ok(ExecStdin {
        kind: fields.optional("type", kind)?.unwrap_or(StdinType::Stdin),
        input: fields.required("input", string)?,
    })
}

fn kind(value: &JsValue, name: &str) -> Result<StdinType> {
    match value.as_string().as_deref() {
        Some("stdin") => Ok(StdinType::Stdin),
        Some("resize") => Ok(StdinType::Resize),
        Some("eof") => Ok(StdinType::Eof),
        _ => Err(wrong(name, "\"stdin\", \"resize\" or \"eof\"", value)),
    }
}

/// Reads the options of `sessions.create()`.
pub(crate) fn session_options(value: &JsValue) -> Result<SessionOptions> {
    let fields = Fields::of_optional(value, "options")?;
    fields.only(&["cwd", "env", "user", "shell"])?;
    Ok(SessionOptions {
        shell: fields.optional("shell", program)?.unwrap_or_else(|| "bash".to_owned()),
        env: fields.optional("env", variables)?.unwrap_or_default(),
        cwd: fields.optional("cwd", shell_text)?,
        user: fields.optional("user", shell_text)?,
    })
}
