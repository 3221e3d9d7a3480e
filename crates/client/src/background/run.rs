//! Running a command to its end as a background process.

use std::mem;

use sandpipe_protocol::json_object;

use super::spawn::{OutputTarget, SpawnRequest};
use super::target::ScriptCall;
use super::wait::Until;
use super::{
    Background, BackgroundProcess, BackgroundStatus, BackgroundWaitOptions, ProcessId, ReadOptions,
    SpawnOptions,
};
use crate::error::whole_ms;
use crate::output::LastOutput;
use crate::{Call, Error, Result};

/// How long a command is waited for unless the caller says, in milliseconds.
pub const WAIT_TIMEOUT_MS: f64 = 300_000.0;
/// The most bytes of output that are handed over as one string: every engine can hold so long a one.
const MAX_OUTPUT_BYTES: u64 = 256 * 1024 * 1024;

/// How to run a command.
pub struct RunOptions {
    /// How it is started.
    pub spawn: SpawnOptions,
    /// How long it is waited for, in milliseconds.
    pub wait_timeout_ms: f64,
    /// Whether a wait that ends before the command is an error.
    pub check: bool,
    /// Whether its exit code is kept for the result.
    pub captures_exit_code: bool,
    /// The most output that is handed over, in bytes.
    pub max_output_bytes: Option<u64>,
    /// Whether its output is thrown away.
    pub ignores_output: bool,
    /// The file that its output is to go to.
    pub output_file: Option<String>,
}

/// What became of a command.
#[derive(Debug)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct BackgroundRunResult {
    /// Its stdout and stderr, in order of arrival.
    pub output: String,
    /// Its exit code, 124 if its `timeoutMs` passed; 1 if it still runs.
    pub exit_code: i32,
    /// True if the wait ended before the command, which still runs; else undefined.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub timed_out: Option<bool>,
    /// The id of the command that still runs.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub id: Option<String>,
    /// The same in words.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub failure_reason: Option<String>,
}

json_object!(ToJson for BackgroundRunResult {
    output: "output",
    exit_code: "exitCode",
    timed_out: "timedOut",
    id: "id",
    failure_reason: "failureReason",
});

impl Background {
    /// Runs a command and waits for its end.
    pub fn run(&self, command: String, options: RunOptions) -> Call<BackgroundRunResult> {
        let background = self.clone();
        Box::pin(async move { run(&background, command, options).await })
    }
}

async fn run(
    background: &Background,
    command: String,
    mut options: RunOptions,
) -> Result<BackgroundRunResult> {
    let request = SpawnRequest {
        script: command,
        options: mem::take(&mut options.spawn),
        output: OutputTarget::Combined { file: options.output_file.clone() },
        keeps_code: options.captures_exit_code,
    };
    let id = background.new_id();
    let purpose = ScriptCall::new("run command", id.clone());
    background.spawn_as(id.clone(), request).await?;
    let wait_options = BackgroundWaitOptions { timeout_ms: options.wait_timeout_ms, signal: None };
    let waited = background.wait_until(Until::EndOfOutput, &id, wait_options).await;
    let process = waited.map_err(|error| purpose.outcome_unknown(error))?;
    let exit_code = match (process.status, process.exit_code) {
        (BackgroundStatus::Running, _) => return still_runs(background, &process, &options).await,
        (_, Some(exit_code)) => exit_code,
        (BackgroundStatus::Exited, None) if !options.captures_exit_code => 0,
        (_, None) => {
            let problem = "it is gone and has left no exit code: what became of it is not known";
            return Err(purpose.failed(problem, ""));
        }
    };
    let collected = collect(background, &process, &options).await;
    let (output, is_whole) = collected.map_err(|error| purpose.outcome_unknown(error))?;
    if is_whole || options.output_file.is_some() {
        // Nothing is lost with it, and the outcome is true whether it stays or not.
        background.remove(id).await.unwrap_or_default();
    }
    Ok(BackgroundRunResult { output, exit_code, timed_out: None, id: None, failure_reason: None })
}

/// Makes the result of a command that `run` no longer waits for.
async fn still_runs(
    background: &Background,
    process: &BackgroundProcess,
    options: &RunOptions,
) -> Result<BackgroundRunResult> {
    let id = &process.id;
    let purpose = ScriptCall::new("run command", ProcessId::of(process));
    let collected = collect(background, process, options).await;
    let (output, _) = collected.map_err(|error| purpose.outcome_unknown(error))?;
    let milliseconds = options.wait_timeout_ms;
    if options.check {
        let mut last_output = LastOutput::default();
        last_output.push(&output);
        return Err(Box::new(Error::WaitTimedOut {
            waited_for: format!("the end of background process {id}, which goes on,"),
            milliseconds,
            exec_id: None,
            output: last_output.to_host(&*background.host),
        }));
    }
    let reason = format!(
        "the command still runs after {} ms, and goes on as background process {id}",
        whole_ms(milliseconds)
    );
    Ok(BackgroundRunResult {
        output,
        exit_code: 1,
        timed_out: Some(true),
        id: Some(id.clone()),
        failure_reason: Some(reason),
    })
}

/// What the caller gets of the output, and whether that is all of it.
async fn collect(
    background: &Background,
    process: &BackgroundProcess,
    options: &RunOptions,
) -> Result<(String, bool)> {
    let id = ProcessId::of(process);
    let purpose = ScriptCall::new("run command", id.clone());
    let limit = match options.max_output_bytes {
        _ if options.ignores_output => 0,
        Some(limit) => limit.min(MAX_OUTPUT_BYTES),
        None => MAX_OUTPUT_BYTES,
    };
    let mut output = String::new();
    let mut offset = 0;
    loop {
        let wanted = ReadOptions::stdout_from(offset, limit - offset);
        let window = background.read_window(&id, &wanted).await?;
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
