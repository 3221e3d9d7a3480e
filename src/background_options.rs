//! What the calls of background processes take, read from the values of JS.

use std::collections::BTreeMap;

use sandpipe_client::background::duration::GRACE_MS;
use sandpipe_client::background::location::{Location, ProcessId, path, plain_name};
use sandpipe_client::background::read_options::{
    Filter, MAX_BYTES, MAX_CHARACTER_BYTES, ReadOptions, Start, Stream,
};
use sandpipe_client::background::run::{RunOptions, WAIT_TIMEOUT_MS};
use sandpipe_client::background::spawn::{
    MAX_TIMEOUT_MS, MAX_VARIABLE_BYTES, OutputTarget, SpawnRequest,
};
use sandpipe_client::background::wait::WaitOptions;
use sandpipe_client::error::{Error, Result};
use wasm_bindgen::prelude::*;

use crate::arguments::{
    Fields, abort_signal, boolean, bytes, milliseconds, shell_text, string, variables_named, wrong,
};
use crate::web::regexp;

/// Reads the options of the client.
pub(crate) fn location(options: &JsValue) -> Result<Location> {
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&["baseDir", "workspace"])?;
    let base_dir = fields.optional("baseDir", target_path)?;
    let workspace =
        fields.optional("workspace", |value, name| plain_name(string(value, name)?, name))?;
    Ok(Location::new(base_dir, workspace))
}

/// A path on the target.
fn target_path(value: &JsValue, name: &str) -> Result<String> {
    path(shell_text(value, name)?, name)
}

/// Reads the id of a process.
pub(crate) fn process_id(value: &JsValue) -> Result<ProcessId> {
    ProcessId::parse(string(value, "id")?)
}

/// The options of a process that [`read_process`] reads.
const PROCESS_OPTIONS: [&str; 4] = ["name", "cwd", "env", "timeoutMs"];

/// Reads the arguments of `spawn()`.
pub(crate) fn spawn_request(script: &JsValue, options: &JsValue) -> Result<SpawnRequest> {
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&PROCESS_OPTIONS)?;
    read_process(shell_text(script, "script")?, &fields)
}

/// A script and what the options say of its process, whose output goes to a file each.
fn read_process(script: String, fields: &Fields<'_>) -> Result<SpawnRequest> {
    Ok(SpawnRequest {
        script,
        name: fields.optional("name", shell_text)?,
        cwd: fields.optional("cwd", target_path)?,
        env: fields.optional("env", environment)?.unwrap_or_default(),
        timeout_ms: fields
            .optional("timeoutMs", milliseconds)?
            .filter(|milliseconds| *milliseconds <= MAX_TIMEOUT_MS),
        output: OutputTarget::Separate,
        keeps_code: true,
    })
}

/// Variables, by names that a shell can have (POSIX, 3.231 Name).
fn environment(value: &JsValue, name: &str) -> Result<BTreeMap<String, String>> {
    let variables = variables_named(value, name, &is_variable_name, "letters, digits and `_`")?;
    for (key, text) in &variables {
        if key.len() + "=".len() + text.len() > MAX_VARIABLE_BYTES {
            return Err(Error::InvalidArgument {
                name: format!("{name}.{key}"),
                expected: format!(
                    "a variable of up to {MAX_VARIABLE_BYTES} bytes, with its name: no system is sure \
                     to start a program with a longer one"
                ),
                actual: format!("a value of {} bytes", text.len()),
            }
            .into());
        }
    }
    Ok(variables)
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Reads the arguments of `run()`: what is to be started, and how it is waited for.
pub(crate) fn run_arguments(
    command: &JsValue,
    options: &JsValue,
) -> Result<(SpawnRequest, RunOptions)> {
    const RUN_OPTIONS: [&str; 5] =
        ["waitTimeoutMs", "captureExitCode", "maxOutputBytes", "ignoreOutput", "outputFile"];
    let command = shell_text(command, "command")?;
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&[&PROCESS_OPTIONS[..], &RUN_OPTIONS].concat())?;
    let wait_timeout = fields.optional("waitTimeoutMs", milliseconds)?;
    let options = RunOptions {
        wait_timeout_ms: wait_timeout.unwrap_or(WAIT_TIMEOUT_MS),
        captures_exit_code: fields.optional("captureExitCode", boolean)?.unwrap_or(true),
        max_output_bytes: fields.optional("maxOutputBytes", bytes)?,
        ignores_output: fields.optional("ignoreOutput", boolean)?.unwrap_or(false),
        output_file: fields.optional("outputFile", target_path)?,
    };
    let request = SpawnRequest {
        output: OutputTarget::Combined { file: options.output_file.clone() },
        keeps_code: options.captures_exit_code,
        ..read_process(command, &fields)?
    };
    Ok((request, options))
}

/// Reads the options of `wait()`.
pub(crate) fn wait_options(options: &JsValue) -> Result<WaitOptions> {
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&["timeoutMs", "signal"])?;
    Ok(WaitOptions {
        timeout_ms: fields.optional("timeoutMs", milliseconds)?.unwrap_or(f64::INFINITY),
        signal: fields.optional("signal", abort_signal)?,
    })
}

/// Reads the options of `terminate()`.
pub(crate) fn grace(options: &JsValue) -> Result<f64> {
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&["graceMs"])?;
    Ok(fields.optional("graceMs", milliseconds)?.unwrap_or(GRACE_MS))
}

/// Reads the options of `readOutput()`.
pub(crate) fn read_options(options: &JsValue) -> Result<ReadOptions> {
    const NAMES: [&str; 7] =
        ["stream", "offset", "maxBytes", "tailBytes", "filter", "exclude", "waitMs"];
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&NAMES)?;
    let offset = fields.optional("offset", whole_bytes)?;
    let tail = fields.optional("tailBytes", whole_bytes)?;
    let start = match (offset, tail) {
        (Some(_), Some(_)) => {
            return Err(only_one("offset", "tailBytes"));
        }
        (_, Some(tail)) => Start::Tail(tail),
        (offset, None) => Start::Offset(offset.unwrap_or(0)),
    };
    let exclude = fields.optional("exclude", boolean)?;
    let expression = fields.optional("filter", regexp::matcher)?;
    if exclude == Some(true) && expression.is_none() {
        return Err(Error::InvalidArgument {
            name: "options.exclude".to_owned(),
            expected: "left out where there is no `filter`".to_owned(),
            actual: "true".to_owned(),
        }
        .into());
    }
    Ok(ReadOptions {
        stream: fields.optional("stream", stream)?.unwrap_or(Stream::Both),
        start,
        max_bytes: fields.optional("maxBytes", at_least_a_character)?.unwrap_or(MAX_BYTES),
        filter: expression.map(|is_match| Filter { is_match, exclude: exclude == Some(true) }),
        wait_ms: fields.optional("waitMs", milliseconds)?.unwrap_or(0.0),
    })
}

fn only_one(first: &str, second: &str) -> Box<Error> {
    Box::new(Error::InvalidArgument {
        name: format!("options.{second}"),
        expected: format!("left out where there is `{first}`"),
        actual: "given too".to_owned(),
    })
}

fn stream(value: &JsValue, name: &str) -> Result<Stream> {
    match value.as_string().as_deref() {
        Some("stdout") => Ok(Stream::Stdout),
        Some("stderr") => Ok(Stream::Stderr),
        Some("both") => Ok(Stream::Both),
        _ => Err(wrong(name, "\"stdout\", \"stderr\" or \"both\"", value)),
    }
}

/// A number of bytes that a shell can count with.
fn whole_bytes(value: &JsValue, name: &str) -> Result<u64> {
    if js_sys::Number::is_safe_integer(value) {
        return bytes(value, name);
    }
    Err(wrong(name, "a whole number of bytes, 0 or more", value))
}

fn at_least_a_character(value: &JsValue, name: &str) -> Result<u64> {
    match whole_bytes(value, name)? {
        bytes if bytes >= MAX_CHARACTER_BYTES => Ok(bytes),
        _ => Err(wrong(name, "a whole number of bytes, 4 or more (the longest character)", value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_are_what_a_shell_takes_for_one() {
        assert!(["A", "_", "a1_B"].into_iter().all(is_variable_name));
        assert!(!["", "1A", "A-B", "A=B", "é", "A B"].into_iter().any(is_variable_name));
    }
}
