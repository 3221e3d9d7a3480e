//! What the calls of the nouns take, read from the values of JS.

use std::collections::BTreeMap;

use js_sys::{JSON, Object};
use sandpipe_client::execs::{
    DEFAULT_GRACE_MS, ExecArguments, Ignored, Input, TerminateOptions, WaitForOutputOptions,
    WaitOptions,
};
use sandpipe_client::output::{Encoding, OutputSink};
use sandpipe_client::sessions::SessionOptions;
use sandpipe_client::{AbortSignal, Result, WaitLimits};
use sandpipe_protocol::{CreateExecRequest, ExecStdin, StdinType};
use wasm_bindgen::prelude::*;

use crate::arguments::{
    abort_signal, boolean, bytes, command_arguments, function, last_sequence, milliseconds,
    positive, program, shell_text, string, terminal_side, variables,
};
use crate::events::EventBatch;
use crate::fields::{Fields, Options, options};
use crate::input::{JsInput, is_bytes};
use crate::invalid_argument::{invalid, wrong};
use crate::web::value::thrown;

/// What the types of the core take of other files.
#[wasm_bindgen(typescript_custom_section)]
const IMPORTS: &str = r#"
import type { ExecResult } from "../exec-result.js";
import type { FileData, FilePath } from "../file-data.js";
import type { BackgroundFoundOutput, FoundOutput } from "../found-output.js";
import type { Policy } from "../node/policy.js";
import type { AbortSignal, Fetch, URL } from "../platform.js";
import type { OutputTarget } from "../output-target.js";
import type { RunResult } from "../runtime.js";
import type { StdinStream } from "../stdin-stream.js";
"#;

/// What `create` and `exec` both take; `sandpipe_protocol` has its TypeScript type.
impl Options for CreateExecRequest {
    fn read_fields(fields: &mut Fields<'_>) -> Self {
        let pty = fields.optional("pty", boolean);
        let side = if pty == Some(true) { terminal_side } else { no_terminal };
        Self {
            pty,
            cols: fields.optional("cols", side),
            rows: fields.optional("rows", side),
            cwd: fields.optional("cwd", shell_text),
            env: fields.optional("env", variables),
            user: fields.optional("user", shell_text),
            contain: fields.optional("contain", boolean),
            policy: fields.optional("policy", policy),
            ..Self::default()
        }
    }
}

/// The request of `execs.create()`.
pub(crate) struct NewExec(pub(crate) CreateExecRequest);

impl Options for NewExec {
    fn read_fields(fields: &mut Fields<'_>) -> Self {
        Self(CreateExecRequest {
            command: fields.required("command", program),
            args: fields.optional("args", command_arguments).unwrap_or_default(),
            autostart: fields.optional("autostart", boolean),
            interactive: fields.optional("interactive", boolean),
            ..Options::read_fields(fields)
        })
    }
}

options! {
    /// How to run a command and follow it to its end.
    interface r#"ExecOptions
    extends Omit<CreateExecRequest, "command" | "args" | "autostart" | "interactive">, WaitOptions"#
    for ExecArguments {
        ..request,
        ..options,
        /// What the command reads from its stdin, up to end-of-file: text, bytes, or a stream of them. A stream is read as
        /// the process reads, and cancelled when that reads no more. Where it fails the command is stopped:
        /// `ExitCodeMissingError`, with what it threw as `cause`. Bytes that are not UTF-8 need the extension
        /// `stdin-bytes`. Default: nothing.
        "input" "?: string | Uint8Array | StdinStream" => input = optional input,
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
    let mut arguments = ExecArguments::read(options)?;
    arguments.request = CreateExecRequest {
        command,
        args,
        autostart: Some(true),
        // Without input nothing is ever sent to its stdin: without an end it could wait for ever.
        interactive: Some(arguments.input.is_some()),
        ..arguments.request
    };
    Ok(arguments)
}

fn no_terminal(value: &JsValue, name: &str) -> Result<u16> {
    Err(wrong(name, "left out, or come with `pty: true`", value))
}

/// A policy: a preset's name, JSON, or the object that it stands for.
fn policy(value: &JsValue, name: &str) -> Result<String> {
    if is_plain_object(value) {
        return JSON::stringify(value).map(Into::into).map_err(thrown);
    }
    shell_text(value, name)
}

/// Whether it is an object by itself: of a promise, or of a `Map`, JSON has nothing, which would be
/// the policy by default.
fn is_plain_object(value: &JsValue) -> bool {
    let Some(object) = value.dyn_ref::<Object>() else {
        return false;
    };
    let prototype = Object::get_prototype_of(object);
    // In another realm it has another `Object.prototype`.
    prototype.is_null() || Object::get_prototype_of(&prototype).is_null()
}

fn input(value: &JsValue, name: &str) -> Result<Input> {
    Ok(Input::WithEof(Box::new(JsInput::of(value, name)?)))
}

options! {
    /// How to follow an exec to its end.
    interface "WaitOptions extends OutputTargets"
    for WaitOptions {
        ..ignored,
        /// Aborted: the command is stopped. SIGTERM to its whole process group, `graceMs` for it to end,
        /// then SIGKILL. The call rejects with `InterruptedError` when the group is gone.
        "signal" "?: AbortSignal" => signal = optional abort_signal,
        /// Aborted: SIGKILL now, as for a second Ctrl+C.
        "forceSignal" "?: AbortSignal" => force_signal = optional abort_signal,
        /// After so many milliseconds it is stopped in the same way: `TimeoutError`.
        "timeoutMs" "?: number" => timeout_ms = optional milliseconds,
        /// How long the command may take to end after SIGTERM, in milliseconds. Default: 10 000.
        "graceMs" "?: number" => grace_ms = optional milliseconds or DEFAULT_GRACE_MS,
        /// Called with each piece of output as it arrives, in order. A promise that it returns is awaited before the next call,
        /// and the output is read no faster.
        "onOutput" "?(event: ExecStdout): unknown" => listener = optional listener,
        /// More output than this, a whole number of bytes, of text as UTF-8: the command is stopped, `OutputLimitError`.
        "maxOutputBytes" "?: number" => max_output_bytes = optional bytes,
        /// `"bytes"`: all output is a `Uint8Array`, byte for byte, also that of events and errors. It needs the extension
        /// `frames`, and a session has text alone. Default: `"utf8"`, text; what is no UTF-8 becomes U+FFFD.
        "encoding" r#"?: "utf8""# => encoding = optional encoding or Encoding::Utf8,
    }
}

options! {
    /// Output that is not kept.
    interface "OutputTargets"
    for Ignored {
        /// `"ignore"`: stdout is not kept; `onOutput` gets it all the same. A stream, of Node.js or of the web: stdout is
        /// written to it, no faster than it takes that, and not kept. It gets text, or bytes with `encoding: "bytes"`, and
        /// is not ended. Output that is not kept does not count for `maxOutputBytes`. Default: it is kept.
        "stdout" "?: OutputTarget" => stdout = optional ignored or false,
        /// The same of stderr.
        "stderr" "?: OutputTarget" => stderr = optional ignored or false,
    }
}

/// js/output-target.ts has replaced streams.
fn ignored(value: &JsValue, name: &str) -> Result<bool> {
    match value.as_string().as_deref() {
        Some("ignore") => Ok(true),
        _ => Err(wrong(name, "\"ignore\" or a stream to write to", value)),
    }
}

fn listener(value: &JsValue, name: &str) -> Result<Box<dyn OutputSink>> {
    let function = function(value, name)?;
    Ok(Box::new(EventBatch::new(Encoding::Utf8, Some(function))))
}

/// How output is wanted.
pub(crate) fn encoding(value: &JsValue, name: &str) -> Result<Encoding> {
    match value.as_string().as_deref() {
        Some("utf8") => Ok(Encoding::Utf8),
        Some("bytes") => Ok(Encoding::Bytes),
        _ => Err(wrong(name, "\"utf8\" or \"bytes\"", value)),
    }
}

options! {
    /// How long to wait for something that goes on by itself.
    interface "WaitLimits"
    for WaitLimits {
        /// After so many milliseconds the wait ends: `TimeoutError`. Default: for ever.
        "timeoutMs" "?: number" => timeout_ms = optional milliseconds,
        /// Aborted: the wait ends, and rejects with `InterruptedError`.
        "signal" "?: AbortSignal" => signal = optional abort_signal,
    }
}

options! {
    /// How to follow the list.
    interface "StreamListOptions"
    struct StreamListOptions {
        /// How long the agent may be silent, in milliseconds: longer than that is a connection that broke, as where an agent hangs. The
        /// agent is asked for signs of life three times as often, up to ten a second. It needs the extension `heartbeat`: another agent
        /// may be silent for 45 s, and is asked again then. Default: so it is with any.
        "maxSilenceMs" "?: number" => max_silence_ms: Option<u32> = optional positive,
        /// Ends the stream when it is aborted: the iteration throws `InterruptedError`.
        "signal" "?: AbortSignal" => _signal: Option<AbortSignal> = optional abort_signal,
    }
}

/// Reads how long there may be silence. js/stream.ts sees to the signal.
pub(crate) fn max_silence_ms(options: &JsValue) -> Result<Option<u32>> {
    Ok(StreamListOptions::read(options)?.max_silence_ms)
}

options! {
    /// How to wait for a text in an output.
    interface "WaitForOutputOptions extends WaitLimits"
    for WaitForOutputOptions {
        ..limits,
        /// Only the events after this one are looked through; -N: the last N events and what follows. Default: 0, all.
        "lastSequence" "?: number" => last_sequence = optional whole_sequence or 0,
    }
}

fn whole_sequence(value: &JsValue, name: &str) -> Result<i64> {
    last_sequence(value).map_err(|_| wrong(name, "a whole number", value))
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
    struct StdinFields {
        /// What `input` is. Default: `"stdin"`.
        "type" "?: StdinType" => kind: StdinType = optional kind or StdinType::Stdin,
        /// What to write: text or bytes; for `resize`, `{"cols":80,"rows":24}` as JSON; for `eof`, empty.
        "input" ": string | Uint8Array" => input: StdinInput = required stdin_input,
    }
}

enum StdinInput {
    Text(String),
    Bytes(JsInput),
}

impl Default for StdinInput {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

fn stdin_input(value: &JsValue, name: &str) -> Result<StdinInput> {
    match JsInput::of_bytes(value) {
        Some(bytes) => Ok(StdinInput::Bytes(bytes)),
        None if value.is_string() => string(value, name).map(StdinInput::Text),
        None => Err(wrong(name, "a string or a Uint8Array", value)),
    }
}

/// What `sendStdin` takes.
pub(crate) enum StdinBody {
    Text(ExecStdin),
    Bytes(JsInput),
    /// It has an end of its own.
    Stream(JsInput),
}

impl StdinBody {
    pub(crate) fn read(value: &JsValue) -> Result<Self> {
        if let Some(stream) = JsInput::of_stream(value) {
            return Ok(Self::Stream(stream));
        }
        let is_plain = value.is_string() || is_bytes(value);
        let StdinFields { kind, input } = if is_plain {
            StdinFields { kind: StdinType::Stdin, input: stdin_input(value, "body")? }
        } else {
            StdinFields::read_required(value, "body")?
        };
        match (kind, input) {
            (kind, StdinInput::Text(input)) => Ok(Self::Text(ExecStdin { kind, input })),
            (StdinType::Stdin, StdinInput::Bytes(bytes)) => Ok(Self::Bytes(bytes)),
            _ => Err(invalid("body.input", "a string for this type", "a Uint8Array")),
        }
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
