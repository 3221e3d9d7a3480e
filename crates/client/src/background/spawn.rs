//! Starting a process.

use std::collections::BTreeMap;

use super::duration::whole_milliseconds;
use super::process::ProcessRecord;
use super::script::{Script, sh};
use super::target::ScriptCall;
use super::{Background, BackgroundProcess, Location, ProcessId};
use crate::Call;
use crate::execs::DEFAULT_GRACE_MS;
use crate::shell::quote::{quote_path, shell_quote};

/// The longest timeout, in milliseconds: 68 years, which every `sleep` can count to. More is for ever.
const MAX_TIMEOUT_MS: f64 = i32::MAX as f64 * 1000.0;
/// The longest variable that Linux hands to a program, in bytes (`MAX_ARG_STRLEN` without the NUL).
pub const MAX_VARIABLE_BYTES: usize = 128 * 1024 - 1;

/// How to start a script.
#[derive(Debug, Default)]
pub struct SpawnOptions {
    /// What the caller calls it.
    pub name: Option<String>,
    /// The directory that it begins in.
    pub cwd: Option<String>,
    /// Environment variables, beside those of the target.
    pub env: BTreeMap<String, String>,
    /// How long it may run, in milliseconds.
    pub timeout_ms: Option<f64>,
}

/// What is to be started.
pub(super) struct SpawnRequest {
    pub(super) script: String,
    pub(super) options: SpawnOptions,
    pub(super) output: OutputTarget,
    /// Whether the exit code is written down.
    pub(super) keeps_code: bool,
}

/// Where the output goes.
pub(super) enum OutputTarget {
    /// stdout and stderr to a file each.
    Separate,
    /// Both to one, in order of arrival: that of stdout, or another, which stands in its place.
    Combined { file: Option<String> },
}

impl SpawnRequest {
    fn record(&self, id: &ProcessId) -> ProcessRecord {
        let (name, cwd) = (self.options.name.clone(), self.options.cwd.clone());
        ProcessRecord::new(id.as_str().to_owned(), name, cwd, &self.script)
    }
}

impl Background {
    /// Starts a script.
    pub fn spawn(&self, script: String, options: SpawnOptions) -> Call<BackgroundProcess> {
        let output = OutputTarget::Separate;
        let request = SpawnRequest { script, options, output, keeps_code: true };
        self.spawn_as(self.new_id(), request)
    }

    /// The same, by an id: in one round trip.
    pub(super) fn spawn_as(&self, id: ProcessId, request: SpawnRequest) -> Call<BackgroundProcess> {
        let background = self.clone();
        Box::pin(async move {
            let record = request.record(&id);
            let meta = record.to_lines(&request.script);
            let script = spawn_script(&background.location, &id, &request, meta);
            // It may be there although no answer is.
            let purpose = ScriptCall::new("spawn process", id);
            let output = background.run_script(&purpose, &script, None).await;
            let output = output.map_err(|failure| {
                if failure.not_run { failure.error } else { purpose.outcome_unknown(failure.error) }
            })?;
            let script = request.script;
            let started = output.take(&purpose, |answer| {
                BackgroundProcess::started(
                    answer.section("home")?,
                    answer.section("head")?,
                    record,
                    script,
                )
            });
            started.map_err(|error| purpose.outcome_unknown(error))
        })
    }
}

fn spawn_script(
    location: &Location,
    id: &ProcessId,
    request: &SpawnRequest,
    meta: String,
) -> Script {
    let output_file = match &request.output {
        OutputTarget::Combined { file: Some(file) } => quote_path(file),
        OutputTarget::Combined { file: None } | OutputTarget::Separate => String::new(),
    };
    location
        .script()
        .text("id", id.as_str())
        .word("keeps_code", keeps_code(request))
        .word("output_file", &output_file)
        // An empty one becomes an empty line: not every `head` takes 0.
        .word("script_size", &request.script.len().max(1).to_string())
        .part(sh!("look"))
        .part(sh!("lead"))
        .part(sh!("conclude"))
        .part(sh!("spawn"))
        .input(meta)
        .input(request.script.clone())
        .input(supervising_script(id, request))
}

/// The script of the shell that leads the process group, waits for the user's script and writes down
/// what became of it. It is read to its end before any of it is done: then its file is removed.
fn supervising_script(id: &ProcessId, request: &SpawnRequest) -> String {
    let timeout_ms = request.options.timeout_ms.filter(|timeout_ms| *timeout_ms <= MAX_TIMEOUT_MS);
    let mut settings = Script::new()
        .text("id", id.as_str())
        .word("keeps_code", keeps_code(request))
        .text("watch", &timeout_ms.map(watching_script).unwrap_or_default());
    if let Some(cwd) = &request.options.cwd {
        settings = settings.word("cwd", &quote_path(cwd));
    }
    let body = settings.part(sh!("look")).part(sh!("lead")).part(sh!("conclude")).into_body();
    let supervise = Script::new().part(sh!("supervise")).into_body();
    format!("{{\n{body}{}{supervise}exit\n}}\n", run_script(request))
}

/// The script that stops the process group when its time is over.
fn watching_script(timeout_ms: f64) -> String {
    let (timeout, whole_timeout) = seconds(timeout_ms);
    Script::new()
        .word("timeout", &timeout)
        .word("whole_timeout", &whole_timeout)
        .word("grace", &whole_milliseconds(DEFAULT_GRACE_MS).to_string())
        .part(sh!("look"))
        .part(sh!("lead"))
        .part(sh!("pause"))
        .part(sh!("watch"))
        .into_body()
}

/// Signals that come before there is a shell for the script are felt by the supervising one alone.
const STOP_CHECK: &str = r#"if [ -e "$dir/terminated" ] || [ -e "$dir/timed_out" ]; then
exec "$shell" -c 'kill -TERM $$'
fi
"#;

fn run_script(request: &SpawnRequest) -> String {
    let to_stderr = match request.output {
        OutputTarget::Separate => r#"2>>"$dir/stderr.log""#,
        OutputTarget::Combined { .. } => "2>&1",
    };
    let mut program = "exec ".to_owned();
    if !request.options.env.is_empty() {
        program += "env ";
        for (name, value) in &request.options.env {
            program.extend([name, "=", &shell_quote(value), " "]);
        }
    }
    format!(
        "run_script() {{\n(umask \"$mask\"\n{STOP_CHECK}{program}\"$shell\" \"$dir/script\") \
         >>\"$dir/stdout.log\" {to_stderr} 3<&- 6<&-\n}}\n"
    )
}

fn keeps_code(request: &SpawnRequest) -> &'static str {
    if request.keeps_code { "1" } else { "" }
}

/// A duration as `sleep` takes it, and in whole seconds, for one that takes nothing else.
fn seconds(milliseconds: f64) -> (String, String) {
    // The cast keeps to the range.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let milliseconds = milliseconds.ceil() as u64;
    let (whole, rest) = (milliseconds / 1000, milliseconds % 1000);
    (format!("{whole}.{rest:03}"), milliseconds.div_ceil(1000).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_never_rounded_down() {
        let strings = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(seconds(0.0), strings("0.000", "0"));
        assert_eq!(seconds(0.5), strings("0.001", "1"));
        assert_eq!(seconds(1500.0), strings("1.500", "2"));
        assert_eq!(seconds(2000.0), strings("2.000", "2"));
        let thirty_days = 30.0 * 24.0 * 3600.0 * 1000.0;
        assert_eq!(seconds(thirty_days), strings("2592000.000", "2592000"));
    }
}
