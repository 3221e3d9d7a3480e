use js_sys::Promise;
use sandpipe_protocol::json_object;
use wasm_bindgen::prelude::*;

use super::Background;
use super::location::{Location, ProcessId, path};
use super::process::{Ending, Process, Status};
use super::read_options::ReadOptions;
use super::read_output::read_output;
use super::remove::remove;
use super::runtime::{Purpose, Runtime};
use super::spawn::{Order, Output, spawn};
use super::wait::{WaitOptions, wait};
use crate::arguments::{Fields, boolean, bytes, milliseconds, shell_text};
use crate::promise::promise;
use crate::value::to_js;
use sandpipe_client::error::{Result, whole_ms};

/// How long a command is waited for unless the caller says, in milliseconds.
const WAIT_TIMEOUT_MS: f64 = 300_000.0;
/// The most bytes of output that are handed over as one string: every engine can hold so long a one.
const LONGEST_OUTPUT: u64 = 256 * 1024 * 1024;

#[wasm_bindgen]
impl Background {
    /// Runs a command and waits for its end. Resolves `{ output, exitCode, failureReason? }`.
    pub fn run(&self, command: &JsValue, options: &JsValue) -> Promise {
        let arguments = read_arguments(command, options);
        let Self { runtime, location } = self.clone();
        promise(async move {
            let (order, options) = arguments?;
            to_js(&run(&runtime, &location, order, options).await?)
        })
    }
}

/// What is to be started, and how it is waited for.
fn read_arguments(command: &JsValue, options: &JsValue) -> Result<(Order, RunOptions)> {
    let command = shell_text(command, "command")?;
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&[&Order::NAMES[..], &RunOptions::NAMES].concat())?;
    let options = RunOptions::read(&fields)?;
    let order = Order {
        output: Output::Joined { file: options.output_file.clone() },
        keeps_code: options.captures_exit_code,
        ..Order::with(command, &fields)?
    };
    Ok((order, options))
}

#[derive(Debug)]
struct RunOptions {
    wait_timeout_ms: f64,
    captures_exit_code: bool,
    max_output_bytes: Option<u64>,
    ignores_output: bool,
    output_file: Option<String>,
}

impl RunOptions {
    const NAMES: [&str; 5] =
        ["waitTimeoutMs", "captureExitCode", "maxOutputBytes", "ignoreOutput", "outputFile"];

    fn read(fields: &Fields<'_>) -> Result<Self> {
        let wait_timeout = fields.optional("waitTimeoutMs", milliseconds)?;
        Ok(Self {
            wait_timeout_ms: wait_timeout.unwrap_or(WAIT_TIMEOUT_MS),
            captures_exit_code: fields.optional("captureExitCode", boolean)?.unwrap_or(true),
            max_output_bytes: fields.optional("maxOutputBytes", bytes)?,
            ignores_output: fields.optional("ignoreOutput", boolean)?.unwrap_or(false),
            output_file: fields.optional("outputFile", path)?,
        })
    }
}

#[derive(Debug)]
struct RunResult {
    output: String,
    exit_code: i32,
    failure_reason: Option<String>,
}

json_object!(ToJson for RunResult {
    output: "output",
    exit_code: "exitCode",
    failure_reason: "failureReason",
});

async fn run(
    runtime: &Runtime,
    location: &Location,
    order: Order,
    options: RunOptions,
) -> Result<RunResult> {
    let id = ProcessId::random();
    let purpose = Purpose { operation: "run command", id: Some(&id) };
    spawn(runtime, location, &id, order).await?;
    let patience = WaitOptions { timeout_ms: options.wait_timeout_ms, signal: None };
    let waited = wait(runtime, location, &id, &patience).await;
    let process = waited.map_err(|error| purpose.lost(error))?;
    let (exit_code, failure_reason) = match process.ending {
        Ending { status: Status::Running, .. } => {
            let reason = format!(
                "the command still runs after {} ms, and goes on as background process {id}",
                whole_ms(options.wait_timeout_ms),
                id = id.as_str()
            );
            (1, Some(reason))
        }
        Ending { exit_code: Some(exit_code), .. } => (exit_code, None),
        Ending { status: Status::Exited, .. } if !options.captures_exit_code => (0, None),
        Ending { .. } => {
            let problem = "it is gone and has left no exit code: what became of it is not known";
            return Err(purpose.failed(problem, ""));
        }
    };
    let collected = collect(runtime, location, &process, &options).await;
    let (output, is_whole) = collected.map_err(|error| purpose.lost(error))?;
    if failure_reason.is_none() && (is_whole || options.output_file.is_some()) {
        // Nothing is lost with it, and the outcome is true whether it stays or not.
        remove(runtime, location, &id).await.unwrap_or_default();
    }
    Ok(RunResult { output, exit_code, failure_reason })
}

/// What is told of the output, and whether that is all of it.
async fn collect(
    runtime: &Runtime,
    location: &Location,
    process: &Process,
    options: &RunOptions,
) -> Result<(String, bool)> {
    let id = ProcessId::of(process);
    let purpose = Purpose { operation: "run command", id: Some(&id) };
    let limit = match options.max_output_bytes {
        _ if options.ignores_output => 0,
        Some(limit) => limit.min(LONGEST_OUTPUT),
        None => LONGEST_OUTPUT,
    };
    let mut output = String::new();
    let mut offset = 0;
    loop {
        let wanted = ReadOptions::stdout_from(offset, limit - offset);
        let window = read_output(runtime, location, &id, &wanted).await?;
        if options.ignores_output {
            let file = options.output_file.as_ref().unwrap_or(&process.stdout_path);
            return Ok((format!("Output of {} bytes is in {file}.", window.size), false));
        }
        let chunk = window.chunk;
        let ended = chunk.next_offset <= offset || chunk.next_offset >= window.size;
        if chunk.next_offset > limit {
            // Less than a character was wanted at last.
            let room = usize::try_from(limit - offset).unwrap_or(usize::MAX);
            let end = chunk.output.floor_char_boundary(room);
            output += chunk.output.get(..end).unwrap_or_default();
            return Ok((output, false));
        }
        output += &chunk.output;
        offset = chunk.next_offset;
        if ended {
            return Ok((output, true));
        }
        if offset >= limit {
            return match options.max_output_bytes {
                Some(_) => Ok((output, false)),
                None => Err(purpose.failed(
                    format!(
                        "the output of {} bytes is longer than one string may be: set maxOutputBytes, \
                         ignoreOutput or outputFile; all of it is in {}",
                        window.size, process.stdout_path
                    ),
                    "",
                )),
            };
        }
    }
}
