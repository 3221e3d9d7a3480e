use std::collections::BTreeMap;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Background;
use super::location::{Location, ProcessId, path};
use super::process::{Process, Record};
use super::runtime::{Purpose, Runtime, not_run};
use super::script::{Script, sh};
use super::terminate::{GRACE_MS, whole_milliseconds};
use crate::arguments::{Fields, milliseconds, shell_text, variables_named};
use crate::promise::promise;
use crate::value::to_js;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::shell::quote::{quote_path, shell_quote};

#[wasm_bindgen]
impl Background {
    /// Starts a script. Resolves the process.
    pub fn spawn(&self, script: &JsValue, options: &JsValue) -> Promise {
        let order = Order::read(script, options);
        let Self { runtime, location } = self.clone();
        promise(async move {
            let id = ProcessId::random();
            to_js(&spawn(&runtime, &location, &id, order?).await?)
        })
    }
}

/// The longest timeout, in milliseconds: 68 years, which every `sleep` can count to. More is for ever.
const LONGEST_TIMEOUT_MS: f64 = i32::MAX as f64 * 1000.0;
/// The longest variable that Linux hands to a program, in bytes (`MAX_ARG_STRLEN` without the NUL).
const LONGEST_VARIABLE: usize = 128 * 1024 - 1;

/// What is to be started.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) script: String,
    pub(super) name: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) timeout_ms: Option<f64>,
    pub(super) output: Output,
    /// Whether the exit code is written down.
    pub(super) keeps_code: bool,
}

/// Where the output goes.
#[derive(Debug)]
pub(super) enum Output {
    /// stdout and stderr to a file each.
    Apart,
    /// Both to one, in order of arrival: that of stdout, or another, which stands in its place.
    Joined { file: Option<String> },
}

impl Order {
    /// The options of a process that [`Order::with`] reads.
    pub(super) const NAMES: [&str; 4] = ["name", "cwd", "env", "timeoutMs"];

    fn read(script: &JsValue, options: &JsValue) -> Result<Self> {
        let fields = Fields::of_optional(options, "options")?;
        fields.only(&Self::NAMES)?;
        Self::with(shell_text(script, "script")?, &fields)
    }

    /// A script and what the options say of its process, whose output goes to a file each.
    pub(super) fn with(script: String, fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            script,
            name: fields.optional("name", shell_text)?,
            cwd: fields.optional("cwd", path)?,
            env: fields.optional("env", environment)?.unwrap_or_default(),
            timeout_ms: fields
                .optional("timeoutMs", milliseconds)?
                .filter(|milliseconds| *milliseconds <= LONGEST_TIMEOUT_MS),
            output: Output::Apart,
            keeps_code: true,
        })
    }

    fn record(&self, id: &ProcessId) -> Record {
        let (name, cwd) = (self.name.clone(), self.cwd.clone());
        Record::new(id.as_str().to_owned(), name, cwd, &self.script)
    }
}

/// Variables, by names that a shell can have (POSIX, 3.231 Name).
fn environment(value: &JsValue, name: &str) -> Result<BTreeMap<String, String>> {
    let variables = variables_named(value, name, &is_variable_name, "letters, digits and `_`")?;
    for (key, text) in &variables {
        if key.len() + "=".len() + text.len() > LONGEST_VARIABLE {
            return Err(Error::InvalidArgument {
                name: format!("{name}.{key}"),
                expected: format!(
                    "a variable of up to {LONGEST_VARIABLE} bytes, with its name: no system is sure \
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

/// Starts it, in one round trip.
pub(super) async fn spawn(
    runtime: &Runtime,
    location: &Location,
    id: &ProcessId,
    order: Order,
) -> Result<Process> {
    // It may be there although no answer is.
    let purpose = Purpose { operation: "spawn process", id: Some(id) };
    let record = order.record(id);
    let script = spawn_script(location, id, &order, record.to_lines(&order.script));
    runtime
        .ask(purpose, &script, |answer| {
            Process::started(answer.section("home")?, answer.section("head")?, record, order.script)
        })
        .await
        .map_err(|error| if not_run(&error) { error } else { purpose.lost(error) })
}

fn spawn_script(location: &Location, id: &ProcessId, order: &Order, meta: String) -> Script {
    let output_file = match &order.output {
        Output::Joined { file: Some(file) } => quote_path(file),
        Output::Joined { file: None } | Output::Apart => String::new(),
    };
    location
        .script()
        .text("id", id.as_str())
        .word("keeps_code", keeps_code(order))
        .word("output_file", &output_file)
        // An empty one becomes an empty line: not every `head` takes 0.
        .word("script_size", &order.script.len().max(1).to_string())
        .part(sh!("look"))
        .part(sh!("lead"))
        .part(sh!("conclude"))
        .part(sh!("spawn"))
        .input(meta)
        .input(order.script.clone())
        .input(supervising_script(id, order))
}

/// The script of the shell that leads the process group, waits for the user's script and writes down
/// what became of it. It is read to its end before any of it is done: then its file is removed.
fn supervising_script(id: &ProcessId, order: &Order) -> String {
    let mut settings = Script::new()
        .text("id", id.as_str())
        .word("keeps_code", keeps_code(order))
        .text("watch", &order.timeout_ms.map(watching_script).unwrap_or_default());
    if let Some(cwd) = &order.cwd {
        settings = settings.word("cwd", &quote_path(cwd));
    }
    let body = settings.part(sh!("look")).part(sh!("lead")).part(sh!("conclude")).into_body();
    let supervise = Script::new().part(sh!("supervise")).into_body();
    format!("{{\n{body}{}{supervise}exit\n}}\n", run_script(order))
}

/// The script that stops the process group when its time is over.
fn watching_script(timeout_ms: f64) -> String {
    let (timeout, whole_timeout) = seconds(timeout_ms);
    Script::new()
        .word("timeout", &timeout)
        .word("whole_timeout", &whole_timeout)
        .word("grace", &whole_milliseconds(GRACE_MS).to_string())
        .part(sh!("look"))
        .part(sh!("lead"))
        .part(sh!("pause"))
        .part(sh!("watch"))
        .into_body()
}

/// Signals that come before there is a shell for the script are felt by the supervising one alone.
const TOLD_TO_STOP: &str = r#"if [ -e "$dir/terminated" ] || [ -e "$dir/timed_out" ]; then
exec "$shell" -c 'kill -TERM $$'
fi
"#;

fn run_script(order: &Order) -> String {
    let to_stderr = match order.output {
        Output::Apart => r#"2>>"$dir/stderr.log""#,
        Output::Joined { .. } => "2>&1",
    };
    let mut program = "exec ".to_owned();
    if !order.env.is_empty() {
        program += "env ";
        for (name, value) in &order.env {
            program.extend([name, "=", &shell_quote(value), " "]);
        }
    }
    format!(
        "run_script() {{\n(umask \"$mask\"\n{TOLD_TO_STOP}{program}\"$shell\" \"$dir/script\") \
         >>\"$dir/stdout.log\" {to_stderr} 3<&- 6<&-\n}}\n"
    )
}

fn keeps_code(order: &Order) -> &'static str {
    if order.keeps_code { "1" } else { "" }
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

    #[test]
    fn names_of_variables_are_what_a_shell_takes_for_one() {
        assert!(["A", "_", "a1_B"].into_iter().all(is_variable_name));
        assert!(!["", "1A", "A-B", "A=B", "é", "A B"].into_iter().any(is_variable_name));
    }
}
