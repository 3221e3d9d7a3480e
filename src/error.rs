//! Why a call was refused or failed, and how JS is told.

use js_sys::Reflect;
use wasm_bindgen::prelude::*;

use sandpipe_client::operation::Operation;

/// The `name` of the JS error that carries a failure out of the core. The package turns it into the
/// error class that its `code` stands for.
const FAILURE: &str = "SandpipeFailure";

/// Everything that a call can fail with.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "{operation}: the agent answered {status}{}{}",
        explain(.message.as_deref()),
        too_late(*.retry_after_ms, *.max_delay_ms)
    )]
    Http {
        operation: Operation,
        status: u16,
        /// The reason that the agent gave. None where something else than the agent answered.
        message: Option<String>,
        body: String,
        /// What the header `Retry-After` asks for.
        retry_after_ms: Option<f64>,
        /// The longest pause that is allowed, where that is why there is no other attempt.
        max_delay_ms: Option<f64>,
    },
    #[error("{operation}: no answer from {url}: {reason}")]
    Network {
        operation: Operation,
        url: String,
        reason: String,
        /// There was no connection, so the agent can't have seen the request.
        never_sent: bool,
        cause: JsValue,
    },
    #[error("{operation}: {problem}")]
    Protocol { operation: Operation, problem: String, excerpt: String },
    #[error("create exec: whether {command:?} was started is not known: {cause}")]
    CreateUnknown { command: String, cause: Box<Error> },
    #[error(
        "the output of exec {exec_id} ended without an exit code: what became of the command is \
         not known{}",
        because(.cause.as_deref())
    )]
    ExitCodeMissing {
        exec_id: String,
        output: JsValue,
        /// What ended it, if that is known.
        cause: Option<Box<Error>>,
    },
    #[error(
        "events {from} to {to} of exec {exec_id} are lost: the agent does not have them any more{}",
        ended(*.exit_code)
    )]
    OutputLost {
        exec_id: String,
        from: u64,
        to: u64,
        /// What came before them, where it has not been handed over.
        output: JsValue,
        /// What the command ended with, if that is known.
        exit_code: Option<i32>,
    },
    #[error("the output of exec {exec_id} is longer than {limit}{}", stopped(limit, .unstopped.as_ref()))]
    OutputLimit {
        exec_id: String,
        limit: OutputLimit,
        output: JsValue,
        /// Why the command may still run, if so.
        unstopped: Option<Unstopped>,
    },
    #[error("{}", .0.describe())]
    Stopped(Stopped),
    #[error("processes of exec {0} are still there after SIGKILL")]
    StillThere(String),
    #[error("this agent does not offer {feature:?}, which {what} needs")]
    Unsupported { feature: &'static str, what: &'static str },
    #[error("`{name}` must be {expected}, but is {actual}")]
    InvalidArgument { name: String, expected: String, actual: String },
    #[error("{reason}")]
    Session {
        exec_id: String,
        reason: String,
        /// What the script had written.
        output: JsValue,
    },
    /// The target of a background process could not do it, or did not say what it did.
    #[error("{operation}{}: {problem}", named(.id.as_deref()))]
    Background {
        operation: &'static str,
        problem: String,
        output: String,
        /// The process that it is about, if it is about one.
        id: Option<String>,
        /// Why the target refused, where a caller can see to that.
        refusal: Option<Refusal>,
        /// What the runtime threw, if that is why.
        cause: JsValue,
    },
    #[error("{operation}: there is no process {id:?}")]
    NotFound { operation: &'static str, id: String },
    #[error("this sandbox is closed")]
    Closed,
    /// What a function of the caller's threw, or the reason that it gave for an abort. It goes
    /// through as it is.
    #[error("thrown by the caller")]
    Thrown(JsValue),
}

/// A command that was stopped before it ended by itself.
#[derive(Clone, Debug)]
pub(crate) struct Stopped {
    /// None where nothing had been created.
    pub(crate) exec_id: Option<String>,
    pub(crate) why: Why,
    /// Its output up to the end.
    pub(crate) output: JsValue,
    /// It took SIGKILL.
    pub(crate) forced: bool,
    /// Why it may still run, if so.
    pub(crate) unstopped: Option<Unstopped>,
    /// Why some of its output is missing, if so.
    pub(crate) incomplete: Option<Box<Error>>,
}

/// Why processes of a command that was to be stopped may be left.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Unstopped {
    #[error("it could not be stopped: {0}")]
    Undelivered(Box<Error>),
    #[error("processes of it are still there after SIGKILL")]
    StillThere,
}

/// Why a command was stopped.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Why {
    #[error("interrupted")]
    Interrupted { reason: JsValue },
    #[error("timed out after {} ms", told_ms(*milliseconds))]
    TimedOut { milliseconds: f64 },
    /// Half of its input is worse than none.
    #[error("its input could not be delivered: {error}")]
    InputLost { error: Box<Error> },
}

/// Why the target of a background process refuses what it could do otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It runs, or something that it started does.
    Running,
    /// The directory of the processes is not its owner's alone.
    Untrusted,
}

impl Refusal {
    /// The `reason` of a `BackgroundError`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Untrusted => "untrusted",
        }
    }
}

/// What output was too long for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutputLimit {
    #[error("a JS string can be ({0} UTF-16 code units)")]
    String(u32),
    #[error("`maxOutputBytes` allows ({0} bytes)")]
    Bytes(u64),
}

/// In a box: every step of a call hands it on, and is smaller where that is a pointer.
pub(crate) type Result<T> = std::result::Result<T, Box<Error>>;

impl Error {
    /// What a function of the caller's threw.
    pub(crate) fn thrown(value: JsValue) -> Box<Self> {
        Box::new(Self::Thrown(value))
    }

    /// The same, as a failure of another operation: of the one that the caller asked for.
    pub(crate) fn of(mut self: Box<Self>, wanted: Operation) -> Box<Self> {
        if let Self::Http { operation, .. }
        | Self::Network { operation, .. }
        | Self::Protocol { operation, .. } = &mut *self
        {
            *operation = wanted;
        }
        self
    }

    /// Whether what was asked for may have been done all the same: there was no answer, or trouble
    /// on the way.
    pub(crate) fn leaves_open(&self) -> bool {
        match self {
            Self::Network { never_sent, .. } => !never_sent,
            Self::Http { status, .. } => *status >= 500 || *status == 408,
            _ => false,
        }
    }

    /// Whether it is about an answer, or about there being none: all else would come again.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Http { .. } | Self::Network { .. })
    }

    /// Whether the sandbox was closed meanwhile.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether the agent can't have seen the request.
    pub(crate) fn is_never_sent(&self) -> bool {
        matches!(self, Self::Network { never_sent: true, .. })
    }

    /// The HTTP status that it is about, if there was an answer.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Http { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The pause that the server asked for.
    pub(crate) fn retry_after_ms(&self) -> Option<f64> {
        match self {
            Self::Http { retry_after_ms, .. } => *retry_after_ms,
            _ => None,
        }
    }

    /// The same error, if the server asked for a longer pause than this.
    pub(crate) fn asking_too_long(&self, limit_ms: f64) -> Option<Box<Self>> {
        if self.retry_after_ms()? <= limit_ms {
            return None;
        }
        let mut refusal = Box::new(self.clone());
        if let Self::Http { max_delay_ms, .. } = &mut *refusal {
            *max_delay_ms = Some(limit_ms);
        }
        Some(refusal)
    }

    /// The machine-readable code of `api.md`.
    fn code(&self) -> &'static str {
        match self {
            Self::Http { .. } => "http",
            Self::Network { .. } => "network",
            Self::Protocol { .. } => "protocol",
            Self::CreateUnknown { .. } => "create_unknown",
            Self::ExitCodeMissing { .. } => "exit_code_missing",
            Self::OutputLost { .. } => "output_lost",
            Self::OutputLimit { .. } => "output_limit",
            Self::Stopped(stopped) => match stopped.why {
                Why::Interrupted { .. } => "interrupted",
                Why::TimedOut { .. } => "timeout",
                Why::InputLost { .. } => "exit_code_missing",
            },
            Self::StillThere(_) => "still_there",
            Self::Unsupported { .. } => "unsupported",
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::Session { .. } => "session",
            Self::Background { .. } => "background",
            Self::NotFound { .. } => "not_found",
            Self::Closed => "closed",
            Self::Thrown(_) => "thrown",
        }
    }

    /// What to do about it.
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Http { max_delay_ms: Some(_), .. } => {
                "Call again then, or raise `retry.maxDelayMs`.".into()
            }
            Self::Http { status: 300..=399, .. } => {
                "If the agent is there, pass its address to connect() as `url`.".into()
            }
            Self::Http { status: 401, .. } => {
                "Pass the agent's token to connect() as `token`.".into()
            }
            Self::Http { status: 403, .. } => {
                "Use the agent's admin token: a read-only one may only look.".into()
            }
            Self::Http { status: 404, message: None, .. } | Self::Protocol { .. } => {
                "Check that the `url` given to connect() is an agent's, without /api.".into()
            }
            Self::Network { .. } => {
                "Check that the agent runs and that the `url` given to connect() is its address; \
                 in a browser also that the agent allows this page's origin (--allow-origin)."
                    .into()
            }
            Self::CreateUnknown { .. } => "Look for it with execs.list() before you run it \
                 again: it may run."
                .into(),
            Self::ExitCodeMissing { exec_id, .. } => {
                format!("Ask again with execs.wait(\"{exec_id}\").")
            }
            Self::OutputLost { .. } => {
                "Raise the agent's --spool-limit, or read the output while the command runs.".into()
            }
            Self::OutputLimit { exec_id, unstopped: None, .. } => {
                format!("Read it piece by piece with execs.streamOutput(\"{exec_id}\").")
            }
            Self::OutputLimit { exec_id, .. } => still_runs(exec_id),
            Self::Stopped(stopped) => match (&stopped.exec_id, &stopped.unstopped) {
                (Some(exec_id), Some(_)) => still_runs(exec_id),
                _ => return None,
            },
            Self::Session { .. } => "Make another with sessions.create().".into(),
            Self::NotFound { .. } => {
                "Look for it with list(): it may have been removed, or be in another \
                 `baseDir` or `workspace`."
                    .into()
            }
            Self::Background { refusal: Some(Refusal::Running), .. } => {
                "Stop it with terminate() first.".into()
            }
            Self::Background { refusal: Some(Refusal::Untrusted), .. } => {
                "Name a directory of your own as `baseDir`.".into()
            }
            Self::Closed => "Make another with connect().".into(),
            Self::Http { .. }
            | Self::StillThere(_)
            | Self::Unsupported { .. }
            | Self::InvalidArgument { .. }
            | Self::Background { .. }
            | Self::Thrown(_) => return None,
        };
        Some(hint)
    }

    /// The fields of the error class beside `code`, `message` and `hint`.
    fn fields(&self) -> Vec<(&'static str, JsValue)> {
        match self {
            Self::Http { operation, status, body, .. } => vec![
                ("status", (*status).into()),
                ("operation", operation.to_string().into()),
                ("body", body.into()),
            ],
            Self::Network { operation, cause, .. } => vec![
                ("status", 0.into()),
                ("operation", operation.to_string().into()),
                ("cause", cause.clone()),
            ],
            Self::Protocol { excerpt, .. } => vec![("excerpt", excerpt.into())],
            Self::CreateUnknown { command, cause } => {
                vec![("command", command.into()), ("cause", cause.to_js())]
            }
            Self::ExitCodeMissing { exec_id, output, cause } => vec![
                ("execId", exec_id.into()),
                ("output", output.clone()),
                ("cause", cause.as_deref().map_or(JsValue::UNDEFINED, Self::to_js)),
            ],
            Self::OutputLost { exec_id, from, to, output, exit_code } => vec![
                ("execId", exec_id.into()),
                ("from", to_number(*from)),
                ("to", to_number(*to)),
                ("output", output.clone()),
                ("exitCode", exit_code.map_or(JsValue::UNDEFINED, JsValue::from)),
            ],
            Self::OutputLimit { exec_id, output, unstopped, .. } => vec![
                ("execId", exec_id.into()),
                ("output", output.clone()),
                ("cause", unstopped.as_ref().map_or(JsValue::UNDEFINED, Unstopped::cause)),
            ],
            Self::Stopped(stopped) => stopped.fields(),
            Self::Session { exec_id, output, .. } => {
                vec![("execId", exec_id.into()), ("output", output.clone())]
            }
            Self::StillThere(exec_id) => vec![("execId", exec_id.into())],
            Self::Unsupported { feature, .. } => vec![("feature", (*feature).into())],
            Self::Background { operation, output, id, refusal, cause, .. } => vec![
                ("operation", (*operation).into()),
                ("output", output.into()),
                ("id", id.as_ref().map_or(JsValue::UNDEFINED, JsValue::from)),
                ("reason", refusal.map_or(JsValue::UNDEFINED, |refusal| refusal.name().into())),
                ("cause", cause.clone()),
            ],
            Self::NotFound { id, .. } => vec![("id", id.into())],
            Self::InvalidArgument { .. } | Self::Closed | Self::Thrown(_) => Vec::new(),
        }
    }

    /// The value that a promise rejects with.
    pub(crate) fn to_js(&self) -> JsValue {
        if let Self::Thrown(value) = self {
            return value.clone();
        }
        let hint = self.hint();
        let message = match &hint {
            Some(hint) => format!("{self}. {hint}"),
            None => self.to_string(),
        };
        let failure = js_sys::Error::new(&message);
        failure.set_name(FAILURE);
        let set = |name: &str, value: &JsValue| {
            // It always can: `failure` is an ordinary, extensible object.
            Reflect::set(&failure, &name.into(), value).is_ok_and(|set| set)
        };
        set("code", &self.code().into());
        if let Some(hint) = hint {
            set("hint", &hint.into());
        }
        for (name, value) in self.fields() {
            if !value.is_undefined() {
                set(name, &value);
            }
        }
        failure.into()
    }
}

impl Stopped {
    fn describe(&self) -> String {
        let subject = self.exec_id.as_ref().map_or_else(String::new, |id| format!("exec {id}: "));
        let unstopped = self.unstopped.as_ref().map(|unstopped| format!("; {unstopped}"));
        let incomplete = self.incomplete.as_ref();
        let incomplete =
            incomplete.map(|error| format!("; some of its output is missing: {error}"));
        let [unstopped, incomplete] = [unstopped, incomplete].map(Option::unwrap_or_default);
        format!("{subject}{}{unstopped}{incomplete}", self.why)
    }

    fn fields(&self) -> Vec<(&'static str, JsValue)> {
        let (exit_code, cause) = match &self.why {
            // 128 + SIGINT, as a shell has it.
            Why::Interrupted { reason } => (Some(130), reason.clone()),
            // As `timeout` of the GNU coreutils has it.
            Why::TimedOut { .. } => (Some(124), JsValue::UNDEFINED),
            Why::InputLost { error } => (None, error.to_js()),
        };
        let unstopped = self.unstopped.as_ref().map_or(JsValue::UNDEFINED, Unstopped::cause);
        vec![
            ("execId", self.exec_id.as_ref().map_or(JsValue::UNDEFINED, JsValue::from)),
            ("output", self.output.clone()),
            ("exitCode", exit_code.map_or(JsValue::UNDEFINED, JsValue::from)),
            ("forced", self.forced.into()),
            ("cause", if cause.is_undefined() { unstopped } else { cause }),
        ]
    }
}

impl Unstopped {
    fn cause(&self) -> JsValue {
        match self {
            Self::Undelivered(error) => error.to_js(),
            Self::StillThere => JsValue::UNDEFINED,
        }
    }
}

impl From<Box<Error>> for JsValue {
    fn from(error: Box<Error>) -> Self {
        error.to_js()
    }
}

fn explain(message: Option<&str>) -> String {
    message.map_or_else(String::new, |message| format!(": {message}"))
}

fn named(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| format!(" {id}"))
}

/// Milliseconds as they are told, whole: Rust's own code for fractions is large.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn told_ms(milliseconds: f64) -> u64 {
    milliseconds.ceil() as u64
}

/// What is told of a server that asks for a longer pause than is allowed.
fn too_late(retry_after_ms: Option<f64>, max_delay_ms: Option<f64>) -> String {
    let (Some(asked), Some(allowed)) = (retry_after_ms, max_delay_ms) else {
        return String::new();
    };
    format!(
        "; it asks for a pause of {} s (Retry-After), and {} s are allowed",
        told_ms(asked / 1000.0),
        told_ms(allowed / 1000.0)
    )
}

fn because(cause: Option<&Error>) -> String {
    cause.map_or_else(String::new, |cause| format!(" ({cause})"))
}

/// What became of a command whose output is lost.
fn ended(exit_code: Option<i32>) -> String {
    exit_code.map_or_else(String::new, |code| format!("; the command ended with exit code {code}"))
}

/// What became of a command whose output is too long.
fn stopped(limit: &OutputLimit, unstopped: Option<&Unstopped>) -> String {
    match (limit, unstopped) {
        (OutputLimit::String(_), _) => String::new(),
        (OutputLimit::Bytes(_), None) => "; the command was stopped".to_owned(),
        (OutputLimit::Bytes(_), Some(unstopped)) => format!("; {unstopped}"),
    }
}

fn still_runs(exec_id: &str) -> String {
    format!("It may still run: stop it with execs.terminate(\"{exec_id}\").")
}

/// Sequence numbers stay far below 2^53, up to which a JS number is exact.
#[allow(clippy::cast_precision_loss)]
fn to_number(sequence: u64) -> JsValue {
    JsValue::from_f64(sequence as f64)
}
