//! What the calls of background processes take, read from the values of JS.

use std::collections::BTreeMap;

use sandpipe_client::Result;
use sandpipe_client::background::{
    BackgroundWaitForOutputOptions, BackgroundWaitOptions, Filter, LineMatcher, Location,
    MAX_BYTES, MAX_CHARACTER_BYTES, MAX_VARIABLE_BYTES, ProcessId, ReadOptions, RunOptions,
    SpawnOptions, Start, Stream, WAIT_TIMEOUT_MS, path, plain_name,
};
use wasm_bindgen::prelude::*;

use crate::arguments::{
    abort_signal, boolean, bytes, milliseconds, shell_text, string, variables_named,
};
use crate::callbacks::regexp::matcher;
use crate::fields::{Options, options};
use crate::invalid_argument::{invalid, wrong};

options! {
    /// Where the processes have their directories: `{baseDir}/{namespace}/{id}` on the target.
    interface "BackgroundOptions"
    for Location {
        /// A directory on the target; `~` and `~/` stand for the home directory there. It is made for its
        /// owner alone; one that is a symbolic link or belongs to another user is refused. Default:
        /// `${TMPDIR:-/tmp}/sandpipe-$(id -u)`.
        "baseDir" "?: string" => base_dir = optional target_path,
        /// The background namespace: a name that keeps processes apart from others in the same `baseDir`. Default: in
        /// a sandbox that of its agent, which the agent has again after a restart with the same state directory;
        /// elsewhere, and with agents that have none, `default`.
        "namespace" "?: string" => namespace = optional namespace_name,
    }
}

fn namespace_name(value: &JsValue, name: &str) -> Result<String> {
    plain_name(string(value, name)?, name)
}

/// A path on the target.
fn target_path(value: &JsValue, name: &str) -> Result<String> {
    path(shell_text(value, name)?, name)
}

/// Reads the id of a process.
pub(crate) fn process_id(value: &JsValue) -> Result<ProcessId> {
    ProcessId::parse(string(value, "id")?)
}

options! {
    /// How to start a process.
    interface "SpawnOptions"
    for SpawnOptions {
        /// A label for people. Several processes may have the same one.
        "name" "?: string" => name = optional shell_text,
        /// The directory that it runs in; `~` and `~/` stand for the home directory. Default: the runtime's.
        "cwd" "?: string" => cwd = optional target_path,
        /// Environment variables on top of the runtime's, up to 128 KiB each.
        "env" "?: Record<string, string>" => env = optional environment or BTreeMap::new(),
        /// After so many milliseconds the target itself stops it, whether anybody looks or not: SIGTERM to its
        /// process group, 10 s, SIGKILL. It is then `killed` with exit code 124. More than 68 years is for ever.
        "timeoutMs" "?: number" => timeout_ms = optional milliseconds,
    }
}

/// Variables, by names that a shell can have (POSIX, 3.231 Name).
fn environment(value: &JsValue, name: &str) -> Result<BTreeMap<String, String>> {
    let variables = variables_named(value, name, &is_variable_name, "letters, digits and `_`")?;
    for (key, text) in &variables {
        if key.len() + "=".len() + text.len() > MAX_VARIABLE_BYTES {
            let expected = format!(
                "a variable of up to {MAX_VARIABLE_BYTES} bytes, with its name: no system is sure \
                 to start a program with a longer one"
            );
            let actual = format!("a value of {} bytes", text.len());
            return Err(invalid(&format!("{name}.{key}"), &expected, &actual));
        }
    }
    Ok(variables)
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

options! {
    /// How to run a command and wait for it, beside how any process is started.
    interface "BackgroundRunOptions extends SpawnOptions"
    for RunOptions {
        ..spawn,
        /// How long to wait, in milliseconds. The command goes on after that. Default: 300 000.
        "waitTimeoutMs" "?: number" => wait_timeout_ms = optional milliseconds or WAIT_TIMEOUT_MS,
        /// True: rejects with `TimeoutError` after `waitTimeoutMs`, instead of resolving exit code 1 with
        /// `timedOut`. Default: false.
        "check" "?: boolean" => check = optional boolean or false,
        /// False: no exit code is written down, and a command that ended counts as one that succeeded (0).
        /// Default: true.
        "captureExitCode" "?: boolean" => captures_exit_code = optional boolean or true,
        /// Only the first so many bytes of the output. Default: all of it.
        "maxOutputBytes" "?: number" => max_output_bytes = optional bytes,
        /// Leave the output where it is: `output` says in which file, and how large it is.
        "ignoreOutput" "?: boolean" => ignores_output = optional boolean or false,
        /// A file on the target for the output. Its directory is made; a file that is there is replaced.
        "outputFile" "?: string" => output_file = optional target_path,
    }
}

options! {
    /// How long to wait for the end of a process.
    interface "BackgroundWaitOptions"
    for BackgroundWaitOptions {
        /// After so many milliseconds the process is given as it is then: `running`. Default: for ever.
        "timeoutMs" "?: number" => timeout_ms = optional milliseconds or f64::INFINITY,
        /// Aborted: the wait ends, the process goes on, and the call rejects with `InterruptedError`.
        "signal" "?: AbortSignal" => signal = optional abort_signal,
    }
}

options! {
    /// How to wait for a text in the output of a process.
    interface "BackgroundWaitForOutputOptions extends WaitLimits"
    for BackgroundWaitForOutputOptions {
        ..limits,
        /// Where in the output of both streams to begin, in bytes: the `nextOffset` of a read of both. Default: 0.
        "offset" "?: number" => offset = optional whole_bytes or 0,
    }
}

options! {
    /// What to read.
    interface "ReadOutputOptions"
    struct ReadOutputOptions {
        /// Which output. `both` is one text, the same for every reader: what was new on stdout whenever
        /// somebody looked, then what was new on stderr. Default: `both`.
        "stream" r#"?: "stdout" | "stderr" | "both""# =>
            stream: Stream = optional stream or Stream::Both,
        /// Where to begin, in bytes: 0, or the `nextOffset` of the read before. Default: 0.
        "offset" "?: number" => offset: Option<u64> = optional whole_bytes,
        /// The most to read, in bytes, at least 4. Default: 1 MiB.
        "maxBytes" "?: number" => max_bytes: u64 = optional at_least_a_character or MAX_BYTES,
        /// Begin so many bytes before the end instead, as it is at the first look. With `filter`, a line that
        /// this cuts is left out.
        "tailBytes" "?: number" => tail: Option<u64> = optional whole_bytes,
        /// A regular expression of JavaScript: only the lines in which it finds something. A line is one of its
        /// stream, and comes where it ends. One that is not finished yet is left for a later read; one that is
        /// longer than `maxBytes` is read in parts.
        "filter" "?: string" => filter: Option<LineMatcher> = optional matcher,
        /// Only the lines in which `filter` finds nothing.
        "exclude" "?: boolean" => exclude: bool = optional boolean or false,
        /// How long to wait, on the target, for output to come or for the process to end. Default: 0.
        "waitMs" "?: number" => wait_ms: f64 = optional milliseconds or 0.0,
    }
}

/// Reads the options of `readOutput()`.
pub(crate) fn read_options(options: &JsValue) -> Result<ReadOptions> {
    let ReadOutputOptions { stream, offset, max_bytes, tail, filter, exclude, wait_ms } =
        ReadOutputOptions::read(options)?;
    let start = match (offset, tail) {
        (Some(_), Some(_)) => {
            let expected = "left out where there is `offset`";
            return Err(invalid("options.tailBytes", expected, "given too"));
        }
        (_, Some(tail)) => Start::Tail(tail),
        (offset, None) => Start::Offset(offset.unwrap_or(0)),
    };
    if exclude && filter.is_none() {
        let expected = "left out where there is no `filter`";
        return Err(invalid("options.exclude", expected, "true"));
    }
    let filter = filter.map(|is_match| Filter { is_match, exclude });
    Ok(ReadOptions { stream, start, max_bytes, filter, wait_ms })
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
