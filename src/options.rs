//! What the calls of the nouns take, read from the values of JS.

use std::collections::BTreeMap;

use sandpipe_client::execs::{
    DEFAULT_GRACE_MS, ExecArguments, Input, TerminateOptions, WaitOptions,
};
use sandpipe_client::output::OutputSink;
use sandpipe_client::sessions::SessionOptions;
use sandpipe_client::{AbortSignal, Result};
use sandpipe_protocol::{CreateExecRequest, ExecStdin, StdinType};
use wasm_bindgen::prelude::*;

use crate::arguments::{
    Options, abort_signal, boolean, bytes, command_arguments, function, milliseconds, options,
    program, shell_text, string, variables, wrong,
};
use crate::web::events::Listener;

/// What the types of the core take of other files.
#[wasm_bindgen(typescript_custom_section)]
const IMPORTS: &str = r#"
import type { AbortSignal, Fetch, URL } from "../platform.js";
import type { Runtime } from "../runtime.js";
"#;

/// Reads the request of `execs.create()`.
pub(crate) fn create_request(value: &JsValue) -> Result<CreateExecRequest> {
    let NewExec { command, args, autostart, interactive, settings } =
        NewExec::read_required(value, "request")?;
    Ok(CreateExecRequest { command, args, autostart, interactive, ..settings })
}

options! {
    struct NewExec {
        ..settings: CreateExecRequest,
        "command" => command: String = required program,
        "args" => args: Vec<String> = required command_arguments,
        "autostart" => autostart: Option<bool> = optional boolean,
        "interactive" => interactive: Option<bool> = optional boolean,
    }
}

// What `create` and `exec` both take; `sandpipe_protocol` has its TypeScript type.
options! {
    for CreateExecRequest {
        "cwd" => cwd = optional shell_text,
        "env" => env = optional variables,
        "pty" => pty = optional boolean,
        "user" => user = optional shell_text,
        ..CreateExecRequest::default()
    }
}

options! {
    /// How to run a command and follow it to its end.
    interface r#"ExecOptions
    extends Omit<CreateExecRequest, "command" | "args" | "autostart" | "interactive">, WaitOptions"#
    struct ExecOptions {
        ..settings: CreateExecRequest,
        ..wait: WaitOptions,
        /// What the command reads from its stdin, up to end-of-file. Default: nothing.
        "input" "?: string" => input: Option<String> = optional string,
    }
}

/// Reads the arguments of `execs.exec()`.
pub(crate) fn exec_arguments(
    command: &JsValue,
    args: &JsValue,
    options: &JsValue,
) -> Result<ExecArguments> {
    let command = program(command, "command")?;
    let args = if args.is_undefined() { Vec::new() } else { command_arguments(args, "args")? };
    let ExecOptions { settings, wait, input } = ExecOptions::read(options)?;
    let request = CreateExecRequest {
        command,
        args,
        autostart: Some(true),
        // Without input nothing is ever sent to its stdin: without an end it could wait for ever.
        interactive: Some(input.is_some()),
        ..settings
    };
    Ok(ExecArguments { request, input: input.map(Input::WithEof), options: wait })
}

options! {
    /// How to follow an exec to its end.
    interface "WaitOptions"
    for WaitOptions {
        /// Aborted: the command is stopped. SIGTERM to its whole process group, `graceMs` for it to end,
        /// then SIGKILL. The call rejects with `InterruptedError` when the group is gone.
        "signal" "?: AbortSignal" => signal = optional abort_signal,
        /// Aborted: SIGKILL now, as for a second Ctrl+C.
        "forceSignal" "?: AbortSignal" => force_signal = optional abort_signal,
        /// After so many milliseconds it is stopped in the same way: `TimeoutError`.
        "timeoutMs" "?: number" => timeout_ms = optional milliseconds,
        /// How long the command may take to end after SIGTERM, in milliseconds. Default: 10 000.
        "graceMs" "?: number" => grace_ms = optional milliseconds or DEFAULT_GRACE_MS,
        /// Called with each piece of output as it arrives, in order. What it returns is not awaited.
        "onOutput" "?(event: ExecStdout): void" => listener = optional listener,
        /// More output than this, a whole number of bytes of UTF-8: the command is stopped, `OutputLimitError`.
        "maxOutputBytes" "?: number" => max_output_bytes = optional bytes,
    }
}

fn listener(value: &JsValue, name: &str) -> Result<Box<dyn OutputSink>> {
    Ok(Box::new(Listener::new(function(value, name)?)))
}

options! {
    /// How to stop a command.
    interface "TerminateOptions"
    for TerminateOptions {
        /// How long it may take to end after SIGTERM, in milliseconds. Default: 10 000.
        "graceMs" "?: number" => grace_ms = optional milliseconds or DEFAULT_GRACE_MS,
        /// Aborted: SIGKILL now.
        "forceSignal" "?: AbortSignal" => force_signal = optional abort_signal,
    }
}

options! {
    /// Something for a running exec's stdin or terminal.
    interface "StdinBody"
    for ExecStdin {
        /// What `input` is. Default: `"stdin"`.
        "type" "?: StdinType" => kind = optional kind or StdinType::Stdin,
        /// The text to write; for `resize`, `{"cols":80,"rows":24}` as JSON; for `eof`, empty.
        "input" ": string" => input = required string,
    }
}

fn kind(value: &JsValue, name: &str) -> Result<StdinType> {
    match value.as_string().as_deref() {
        Some("stdin") => Ok(StdinType::Stdin),
        Some("resize") => Ok(StdinType::Resize),
        Some("eof") => Ok(StdinType::Eof),
        _ => Err(wrong(name, "\"stdin\", \"resize\" or \"eof\"", value)),
    }
}

/// Reads the body of `execs.sendStdin()`.
pub(crate) fn stdin_body(value: &JsValue) -> Result<ExecStdin> {
    ExecStdin::read_required(value, "body")
}

options! {
    /// Which shell a session has, and where and how it starts.
    interface "SessionOptions"
    for SessionOptions {
        /// The working directory. Default: the agent's workspace.
        "cwd" "?: string" => cwd = optional shell_text,
        /// Environment variables, added to the agent's own.
        "env" "?: Record<string, string>" => env = optional variables or BTreeMap::new(),
        /// The user to run as: `user[:group]`, names or numeric ids; a number without an entry in `/etc/passwd` needs a
        /// group. Default: the agent's.
        "user" "?: string" => user = optional shell_text,
        /// The name or path of a shell: bash or dash. It reads no start-up file. Default: `"bash"`.
        "shell" "?: string" => shell = optional program or "bash".to_owned(),
    }
}

options! {
    struct RunOptions {
        "signal" => signal: Option<AbortSignal> = optional abort_signal,
    }
}

/// Reads the script of `sandbox.run()` and the signal that stops it.
pub(crate) fn run_arguments(
    script: &JsValue,
    options: &JsValue,
) -> Result<(String, Option<AbortSignal>)> {
    Ok((shell_text(script, "script")?, RunOptions::read(options)?.signal))
}
